# A game for LOVE, replacing mari0, which Debian does not package.
packages=mrrescue love libgl1 libegl1 libegl-mesa0 libglx-mesa0 libgl1-mesa-dri libx11-xcb1 libxcb-randr0
command=exec /usr/games/mrrescue
class=love
