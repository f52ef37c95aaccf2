. "$(dirname "$0")/common.sh"
under convert -size 640x480 plasma:red-blue -seed 1 /dev/null; echo "plasma $?"
under convert -size 640x480 gradient:red-blue -swirl 90 -blur 0x3 -resize 50% a.png; echo "convert $?"
under identify -format '%m %w %h %#\n' a.png
under convert a.png -rotate 30 -colors 64 a.gif; under identify -format '%m %w %h\n' a.gif
under convert a.png -quality 80 a.jpg; under compare -metric AE a.png a.png null: ; echo " compare $?"
under montage a.png a.gif a.jpg -geometry 100x100 m.png; under identify -format '%w %h\n' m.png
under mogrify -format bmp a.png; cksum a.bmp
