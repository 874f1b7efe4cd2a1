# snap-startup-published.awk - convert the published rows to rows of lap
# SPDX-License-Identifier: BSD-2-Clause
#
# Lines are ITER:SNAP:MODE:SIZE:START:START2[:START3:START4]:WALK, with times in
# ms; the study used zstd at level 15.
function row(label, ms) {
	print "published", label, "image_B=" $4, run, "all", "cold",
	    ms / 1000, "", "", 0, ""
}
BEGIN {
	FS = ":"
	OFS = ","
	print "series,label,keys,run,stage,cache,wall_s,user_s,sys_s,exit,signal"
}
NF != 7 && NF != 9 { exit bad = 1 }
{
	mode = $3 == "zstd" ? "zstd15" : $3
	app = $2 == "gnome-calculator" ? "calculator" : $2
	# the file may contain several series
	run = ++seen[app, mode]
	row(app "." mode ".first", $5)
	row(app "." mode ".second", $6)
	row(app "." mode ".walk.app.mount", $NF)
}
END { exit bad }
