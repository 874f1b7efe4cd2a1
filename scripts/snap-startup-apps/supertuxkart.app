# A game with thousands of files that its first window does not need.
packages=supertuxkart libgl1 libegl1 libegl-mesa0 libglx-mesa0 libgl1-mesa-dri libx11-xcb1 libxcb-randr0
command=exec /usr/games/supertuxkart --windowed
class=[Ss]upertuxkart
