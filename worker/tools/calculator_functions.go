package tools

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
)

// maxRounding bounds the decimals of round.
const maxRounding = 100

// mathFunction is a function of the calculator with its minimum and maximum number of arguments.
type mathFunction struct {
	least, most int
	compute     func([]number) (number, error)
}

func (f mathFunction) arity() string {
	switch {
	case f.most == maxArguments:
		return fmt.Sprintf("%d arguments or more", f.least)
	case f.least != f.most:
		return fmt.Sprintf("%d or %d arguments", f.least, f.most)
	case f.least == 1:
		return "1 argument"
	default:
		return fmt.Sprintf("%d arguments", f.least)
	}
}

var functions = map[string]mathFunction{
	"sqrt": {1, 1, squareRoot},
	"abs":  {1, 1, absolute},
	"min": {1, maxArguments, func(n []number) (number, error) {
		return slices.MinFunc(n, compare), nil
	}},
	"max": {1, maxArguments, func(n []number) (number, error) {
		return slices.MaxFunc(n, compare), nil
	}},
	"round": {1, 2, round},
	"floor": {1, 1, func(n []number) (number, error) { return exact(floor(n[0].rat())) }},
	"ceil": {1, 1, func(n []number) (number, error) {
		r := floor(new(big.Rat).Neg(n[0].rat()))
		return exact(r.Neg(r))
	}},
	"trunc": {1, 1, func(n []number) (number, error) {
		r := n[0].rat()
		return exact(new(big.Rat).SetInt(new(big.Int).Quo(r.Num(), r.Denom())))
	}},
	"ln":    logarithm(math.Log),
	"log10": logarithm(math.Log10),
	"log2":  logarithm(math.Log2),
	"exp":   double(math.Exp),
	"sin":   double(math.Sin),
	"cos":   double(math.Cos),
	"tan":   double(math.Tan),
	"asin":  double(math.Asin),
	"acos":  double(math.Acos),
	"atan":  double(math.Atan),
}

func functionNames() string { return strings.Join(slices.Sorted(maps.Keys(functions)), ", ") }

// double returns the calculator's form of a function on doubles.
func double(f func(float64) float64) mathFunction {
	return mathFunction{1, 1, func(n []number) (number, error) {
		return approximate(f(n[0].double()))
	}}
}

func logarithm(f func(float64) float64) mathFunction {
	return mathFunction{1, 1, func(n []number) (number, error) {
		if n[0].rat().Sign() <= 0 {
			return number{}, errors.New("only numbers above zero have a logarithm")
		}
		return approximate(f(n[0].double()))
	}}
}

func compare(a, b number) int { return a.rat().Cmp(b.rat()) }

func absolute(n []number) (number, error) {
	if n[0].rat().Sign() < 0 {
		return n[0].negated(), nil
	}
	return n[0], nil
}

// squareRoot is exact for squares of fractions.
func squareRoot(n []number) (number, error) {
	r := n[0].rat()
	if r.Sign() < 0 {
		return number{}, errors.New("a number below zero has no real square root")
	}
	if n[0].fraction != nil {
		top, bottom := new(big.Int).Sqrt(r.Num()), new(big.Int).Sqrt(r.Denom())
		root := new(big.Rat).SetFrac(top, bottom)
		if new(big.Rat).Mul(root, root).Cmp(r) == 0 {
			return number{fraction: root}, nil
		}
	}
	return approximate(math.Sqrt(n[0].double()))
}

// round rounds to a number of decimals, by default none; halves go away from zero.
func round(n []number) (number, error) {
	decimals := new(big.Rat)
	if len(n) == 2 {
		decimals = n[1].rat()
	}
	if !decimals.IsInt() || decimals.Num().CmpAbs(big.NewInt(maxRounding)) > 0 {
		return number{},
			fmt.Errorf("the decimals to round to must be a whole number from -%d to %d",
				maxRounding, maxRounding)
	}
	digits := decimals.Num().Int64()
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(max(digits, -digits)),
		nil))
	if digits < 0 {
		scale.Inv(scale)
	}
	r := new(big.Rat).Mul(new(big.Rat).Abs(n[0].rat()), scale)
	r = floor(r.Add(r, big.NewRat(1, 2)))
	r.Quo(r, scale)
	if n[0].rat().Sign() < 0 {
		r.Neg(r)
	}
	return exact(r)
}
