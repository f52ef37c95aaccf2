# What is most likely to notice the recorder, with more time.
set -- default test_os test_posix test_signal test_subprocess test_threading test_fork1 test_wait3 test_wait4 test_pty \
	test_faulthandler test_mmap test_resource test_threadsignals test_multiprocessing_fork test_multiprocessing_main_handling \
	test_gc test_tracemalloc test_sys test_socket test_selectors test_thread test_threading_local test_popen test_ctypes test_capi
SECONDS_PER_MODULE=300
export SECONDS_PER_MODULE
. "$(dirname "$0")/cpython.sh"
