# A small program whose libraries form a separate content image.
packages=gnome-calculator dbus-x11 adwaita-icon-theme
own=gnome-calculator
command=GSK_RENDERER=cairo exec dbus-run-session gnome-calculator
class=[Cc]alculator
