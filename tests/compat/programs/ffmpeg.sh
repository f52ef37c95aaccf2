. "$(dirname "$0")/common.sh"
options="-nostdin -hide_banner -loglevel error -y"
# shellcheck disable=SC2086
under ffmpeg $options -f lavfi -i testsrc2=size=320x240:rate=25:duration=4 -f lavfi -i sine=frequency=440:duration=4 \
	-c:v libx264 -threads 4 -preset fast -c:a aac -bitexact a.mp4
echo "encode $?"
# shellcheck disable=SC2086
under ffmpeg $options -i a.mp4 -threads 4 -f framemd5 - | cksum
under ffprobe -v error -show_entries stream=codec_name,nb_frames -of csv a.mp4
# shellcheck disable=SC2086
under ffmpeg $options -i a.mp4 -vf scale=160:-2,hue=s=0 -c:v libvpx-vp9 -cpu-used 8 -an -bitexact b.webm; echo "vp9 $?"
# shellcheck disable=SC2086
under ffmpeg $options -i nothing.mp4 b.mp4 2>/dev/null; echo "exit $?"
