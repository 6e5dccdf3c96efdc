package tools

import (
	"errors"
	"math"
	"math/big"
	"strconv"
)

// maxBits bounds the numerator and the denominator of an exact number. Longer numbers become
// doubles.
const maxBits = 1 << 14

// maxDecimals bounds the decimals of an exact result.
const maxDecimals = 40

var (
	errDivision = errors.New("division by zero")
	errTooLarge = errors.New("the result is too large")
	errNotReal  = errors.New("there is no real result")
)

// number is an exact fraction, or a finite double if fraction is nil.
type number struct {
	fraction *big.Rat
	approx   float64
}

// exact returns the fraction, or a double if the fraction is too long.
func exact(r *big.Rat) (number, error) {
	if r.Num().BitLen() <= maxBits && r.Denom().BitLen() <= maxBits {
		return number{fraction: r}, nil
	}
	f, _ := r.Float64()
	return approximate(f)
}

func approximate(f float64) (number, error) {
	if math.IsNaN(f) {
		return number{}, errNotReal
	}
	if math.IsInf(f, 0) {
		return number{}, errTooLarge
	}
	return number{approx: f}, nil
}

// double returns the number as a double. An exact number beyond the range of doubles is infinite.
func (n number) double() float64 {
	if n.fraction == nil {
		return n.approx
	}
	f, _ := n.fraction.Float64()
	return f
}

// rat returns the number as a fraction. A double is converted exactly.
func (n number) rat() *big.Rat {
	if n.fraction != nil {
		return n.fraction
	}
	return new(big.Rat).SetFloat64(n.approx)
}

func (n number) finite() bool { return !math.IsInf(n.double(), 0) }

func (n number) negated() number {
	if n.fraction != nil {
		return number{fraction: new(big.Rat).Neg(n.fraction)}
	}
	return number{approx: -n.approx}
}

// text returns the number in decimal and whether that is all of it.
func (n number) text() (text string, whole bool) {
	if n.fraction == nil {
		return doubleText(n.approx), false
	}
	if n.fraction.IsInt() {
		return n.fraction.Num().String(), true
	}
	if decimals, ends := n.fraction.FloatPrec(); ends && decimals <= maxDecimals {
		return n.fraction.FloatString(decimals), true
	}
	if f := n.double(); f != 0 && !math.IsInf(f, 0) {
		return doubleText(f), false
	}
	return new(big.Float).SetPrec(64).SetRat(n.fraction).Text('g', 17), false
}

// doubleText returns the shortest text that reads back as the same double, as JSON does.
func doubleText(f float64) string {
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	if f == 0 {
		f = 0 // and not -0
	}
	return strconv.FormatFloat(f, format, -1, 64)
}

// binary are the left-associative operators.
var binary = map[string]func(a, b number) (number, error){
	"+": func(a, b number) (number, error) {
		return combine(a, b, (*big.Rat).Add, func(x, y float64) float64 { return x + y })
	},
	"-": func(a, b number) (number, error) {
		return combine(a, b, (*big.Rat).Sub, func(x, y float64) float64 { return x - y })
	},
	"*": func(a, b number) (number, error) {
		return combine(a, b, (*big.Rat).Mul, func(x, y float64) float64 { return x * y })
	},
	"/": func(a, b number) (number, error) {
		if b.rat().Sign() == 0 {
			return number{}, errDivision
		}
		return combine(a, b, (*big.Rat).Quo, func(x, y float64) float64 { return x / y })
	},
	"%": remainder,
}

// combine computes exactly if both numbers are exact.
func combine(a, b number, fractions func(z, x, y *big.Rat) *big.Rat,
	doubles func(x, y float64) float64) (number, error) {
	if a.fraction != nil && b.fraction != nil {
		return exact(fractions(new(big.Rat), a.fraction, b.fraction))
	}
	return approximate(doubles(a.double(), b.double()))
}

// remainder returns a - b*floor(a/b), which has the sign of b.
func remainder(a, b number) (number, error) {
	divisor := b.rat()
	if divisor.Sign() == 0 {
		return number{}, errDivision
	}
	times := floor(new(big.Rat).Quo(a.rat(), divisor))
	rest := new(big.Rat).Sub(a.rat(), times.Mul(times, divisor))
	if a.fraction != nil && b.fraction != nil {
		return exact(rest)
	}
	f, _ := rest.Float64()
	return approximate(f)
}

func floor(r *big.Rat) *big.Rat {
	// Euclidean division by the denominator, which is positive, rounds down.
	return new(big.Rat).SetInt(new(big.Int).Div(r.Num(), r.Denom()))
}

// raise returns base^exponent. It is exact for a whole exponent unless the result is too long.
func raise(base, exponent number) (number, error) {
	if base.rat().Sign() == 0 && exponent.rat().Sign() < 0 {
		return number{}, errDivision
	}
	times, ok := wholePower(base, exponent)
	if !ok {
		return approximate(math.Pow(base.double(), exponent.double()))
	}
	n := big.NewInt(max(times, -times))
	top := new(big.Int).Exp(base.fraction.Num(), n, nil)
	bottom := new(big.Int).Exp(base.fraction.Denom(), n, nil)
	if times < 0 {
		top, bottom = bottom, top
	}
	return exact(new(big.Rat).SetFrac(top, bottom))
}

// wholePower returns the exponent if the power can be computed exactly within maxBits.
func wholePower(base, exponent number) (int64, bool) {
	if base.fraction == nil || exponent.fraction == nil || !exponent.fraction.IsInt() ||
		!exponent.fraction.Num().IsInt64() {
		return 0, false
	}
	times := exponent.fraction.Num().Int64()
	bits := int64(max(base.fraction.Num().BitLen(), base.fraction.Denom().BitLen()))
	return times, times >= -maxBits && times <= maxBits && bits*max(times, -times) <= maxBits+bits
}
