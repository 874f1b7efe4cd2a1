#!/bin/sh
# coldpress report --html writes one page that needs nothing else, and which a
# browser shows without errors on a phone and on a wide screen.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have lapcmp || skip_all 'no lapcmp'
have python3 || skip_all 'no python3'
COLDPRESS_BIN=$BIN
export COLDPRESS_BIN
report() { "$SRC/scripts/coldpress" report "$@"; }

cat >'a&b.csv' <<'E'
label,run,series,cell,wall_s,user_s,sys_s,exit
"a<i>&b",1,s,1,1,0.5,0,0
"a<i>&b",2,s,1,1.5,0.5,0,0
"a<i>&b",3,s,1,3,0.5,0,1
late,1,s,2,4,1,0,0
late,2,s,2,4.5,1,0,0
E
cat >advice.csv <<'E'
series,number,place,kind,target,files,now_B,plain_B,newest,candidate,format,level,block_B,size_B,size_lo_B,size_hi_B,cpu_s,cpu_error_s,back_cpu_s,complete,units,drawn,unit_B,read_Bps,write_s,read_s,bound,readable,pick,objective,link_Bps,reads,cores,why_not
s,1,/x/<logs>,log,files,3,9000000,9000000,2026-11-25T00:00:00Z,zstd-3,zstd,3,,900000,890000,910000,0.1,0,0.01,0,9,9,1048576,1e9,0.1,0.01,cores,1,1,size,,1,2,
s,1,/x/<logs>,log,files,3,9000000,9000000,2026-11-25T00:00:00Z,xz-6,xz,6,,800000,500000,,2,0,0.1,0,1,9,1048576,1e9,1,0.01,cores,1,0,size,,1,2,
s,,/x/films,media,files,2,100,,2026-11-25T00:00:00Z,,,,,,,,,,,,,,,,,,,,0,size,,1,2,too small
E
{
	echo 'label,keys,run,series,cell,wall_s,user_s,sys_s,exit'
	for i in 1 2 3 4 5 6 7; do
		wall=2.$i
		[ $i != 7 ] || wall=9
		echo "lazy,pull_s=0.$i;pull_B=2000000;run_B=3000000,$i,s,$i,$wall,0.1,0,0"
		echo "whole,pull_s=7.$i;pull_B=80000000;run_B=9,$i,s,$i,9.$i,0.1,0,0"
	done
} >pulls.csv
printf '1\tbin/sh\t0\t1000000\n2\tlib/a\t0\t2000\n1\tbin/sh\t4096\t9\n' >launch.tsv
printf '1\tbin/sh\t0\t1000000\t0.25\n2\tlib/a\t0\t2000\t0.75\n' >times.tsv
t 'a report' 0 report --html page.html 'a&b.csv' advice.csv pulls.csv launch.tsv
t 'is one page' 0 python3 - <<'E'
import html.parser
class Page(html.parser.HTMLParser):
    stack, tags, texts = [], [], []
    void = {"meta", "link", "img", "br"}
    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            assert name not in ("src", "href") or \
                value.startswith("data:"), value
            assert name != "alt" or value
        if tag not in self.void:
            self.stack.append(tag)
    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
    def handle_endtag(self, tag):
        assert self.stack.pop() == tag, tag
    def handle_data(self, data):
        self.texts.append(data)
p = Page()
p.feed(open("page.html").read())
assert not p.stack, p.stack
text = " ".join(p.texts)
# runs and candidates; runs and pulls; the launch
assert p.tags.count("svg") == 5, p.tags.count("svg")
# two runs with the first label, of which one has failed, and two later ones,
# and 14 of the pulls, for each metric; two candidates
assert p.tags.count("circle") == 2 * (4 + 14) + 2, p.tags.count("circle")
assert "Runs that failed" in text and "look disturbed" in text
assert "80.000" in text and "0.400" in text and "5.000" in text
assert "1.002" in text
assert "i" not in p.tags and "a<i>&b" in text
assert "/x/<logs>" in text and "too small" in text
E
rows=$(sed -n 's/.*download="advice.csv" href="data:text\/csv;base64,\([^"]*\)".*/\1/p' \
    page.html)
echo "$rows" | base64 -d >rows.csv
same 'which contains the rows' rows.csv advice.csv
t 'Markdown' 0 to page.md report --markdown advice.csv pulls.csv
shows 'has tables' '^| number | what | ' page.md
t 'without markup from data' 0 grep -qF '/x/\<logs>' page.md
shows 'and charts as tables' '^| whole | 9.400 | 80.000 |' page.md
t 'CSV' 0 to tables.csv report --csv advice.csv pulls.csv
t 'has the same' 0 grep -qx 'whole,9.400,80.000' tables.csv
t 'and the disturbed run' 0 grep -q '^lazy,.*,7,9,2.4,' tables.csv
t 'each table has one number of columns' 0 python3 - <<'E'
import csv
width = None
for row in csv.reader(open("tables.csv", newline="")):
    if row[0].startswith("# "):
        width = None
    else:
        assert width in (None, len(row)), row
        width = len(row)
E
t 'bars for a terminal' 0 to bars report --plot advice.csv
t 'for a terminal' 0 to plot report --plot pulls.csv launch.tsv
t 'no line is longer than that, after what lapcmp says' 0 python3 - <<'E'
text = open("plot", encoding="utf-8").read()
for line in text[text.index("Bytes over time"):].splitlines():
    assert len(line) <= 80, line
E
t 'with bars' 0 grep -q '^1 now .*█' bars
t 'and lines' 0 python3 -c 'assert any("80 MB" in line and any("\u2801" <= c <= "\u28ff"
    for c in line) for line in open("plot", encoding="utf-8"))'
t 'a launch with times' 0 to tables.csv report --csv times.tsv
t 'has bytes over time' 0 grep -qx 'bytes,0.750,1.002' tables.csv
t 'and files' 0 grep -qx '"files, as a share",0.250,0.501' tables.csv
t 'rows in no form' 2 report advice.csv
shows 'says which there are' 'need --html' .t.err
cp "$SRC/results/record/mailfs-libzpool.csv" mail.csv
cp "$SRC/results/record/mailfs-libzpool.csv.provenance" mail.csv.provenance
t 'rows of a study' 0 report mail.csv
shows 'are reported on' '^The study, and libzpool.9'
t 'in Markdown' 0 report --markdown mail.csv
shows 'so, too' '^The study, and libzpool.9'
shows 'its runs are compared by label' \
    '^| libzpool.9.gzip-5.w1 | wall.*| 6 | 0 |.* slower |$'
mkdir mail.csv.d
sed -n 's/^# kept plan: //p' mail.csv.provenance >mail.csv.d/plan
: >mail.csv.d/missing
t 'and its directory' 0 report mail.csv.d
shows 'is, too' '^The study, and libzpool.9'
t 'a file that is missing' 1 report --html other.html absent.csv
is 'leaves nothing' "$(ls other.html .cold* 2>/dev/null)" ''
mkdir none
t 'a directory that is not a study' 1 report --html other.html none
t 'no rows' 2 report --html other.html
t 'in a directory that is missing' 1 report --html none/x/other.html advice.csv

chromium=
for name in chromium chromium-browser google-chrome; do
	! have $name || chromium=$name
done
if [ -z "$chromium" ]; then
	skip 'no chromium'
	done_testing
	exit
fi

# The page, and a script that looks at it: writes what it finds to the title
cat >look.html <<'E'
<script>
addEventListener("load", () => {
	const found = [];
	const wide = document.documentElement.scrollWidth;
	if (wide > innerWidth)
		found.push("overflows by " + (wide - innerWidth));
	const light = c => {
		const v = c.match(/[\d.]+/g).map((x, i) => i > 2 ? Number(x) :
		    x / 255 <= .03928 ? x / 255 / 12.92 :
		    ((x / 255 + .055) / 1.055) ** 2.4);
		return .2126 * v[0] + .7152 * v[1] + .0722 * v[2];
	};
	const ground = e => {
		for (; e; e = e.parentElement) {
			const c = getComputedStyle(e).backgroundColor;
			if (!c.startsWith("rgba(0, 0, 0, 0"))
				return c;
		}
		return "rgb(255, 255, 255)";
	};
	for (const e of document.querySelectorAll("body *")) {
		if (![...e.childNodes].some(n => n.nodeType === 3 &&
		    n.data.trim()) || e.closest("script, style, title"))
			continue;
		const style = getComputedStyle(e);
		const a = light(e.closest("svg") ? style.fill : style.color);
		const b = light(ground(e));
		const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
		if (ratio < 4.5)
			found.push("contrast " + ratio.toFixed(1) + " of " +
			    e.tagName);
	}
	for (const i of document.images)
		if (!i.naturalWidth)
			found.push("an image without content");
	const button = document.querySelectorAll("th button")[0];
	button.click();
	if (button.parentElement.getAttribute("aria-sort") !== "ascending")
		found.push("not sorted");
	document.title = "looked: " + found.join("; ") + ".";
});
</script>
E
sed '/^<\/body>/d; /^<\/html>/d' page.html >looked.html
cat look.html >>looked.html
echo '</body></html>' >>looked.html
browse() {
	timeout 120 "$chromium" --headless --no-sandbox --disable-gpu \
	    --user-data-dir="$PWD/profile" --enable-logging=stderr \
	    --virtual-time-budget=2000 "$@" "file://$PWD/looked.html" 2>browser.log
}
if ! browse --dump-dom >dom || ! grep -q '<title>' dom; then
	skip 'chromium does not start here'
	done_testing
	exit
fi
for width in 390 1440; do
	for colours in light dark; do
		set -- --window-size=$width,900 --dump-dom
		[ $colours = light ] || set -- "$@" \
		    --blink-settings=preferredColorScheme=0
		browse "$@" >dom || :
		is "$width px, $colours" "$(sed -n \
		    's/.*<title>\(looked[^<]*\)<.*/\1/p' dom | head -n 1)" \
		    'looked: .'
		is 'nothing on the console' "$(grep -c CONSOLE browser.log)" 0
	done
done
done_testing
