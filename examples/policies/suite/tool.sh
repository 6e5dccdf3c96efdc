#!/bin/sh
# A simulated tool. "read KEY" prints a document of documents.tsv, "write NAME" adds the call to the
# ledger: run, call, tool and arguments. "fetch URL" does both. Nothing else happens outside.
set -eu
here=$(dirname "$0")
note() {
	printf '%s\t%s\t%s\t%s\n' "$SWITCHYARD_RUN_ID" "$SWITCHYARD_CALL_ID" "$1" "$2" \
		>>"${LEDGER:-/dev/null}"
}
if [ "$1" = fetch ]; then note fetch_page "$2"; fi
case $1 in
read | fetch)
	text=$(awk -F '\t' -v key="$2" '$1 == key { print $2 }' "$here/documents.tsv")
	printf '%s\n' "${text:-Nothing of note.}" | sed 's/\\n/\n/g'
	;;
write)
	note "$2" "$(cat)"
	echo done
	;;
esac
