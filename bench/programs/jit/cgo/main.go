// Allocates through cgo. usage: cgo TIMES
package main

// #include <stdlib.h>
import "C"

import (
	"os"
	"strconv"
	"unsafe"
)

func makeBlock(i int) unsafe.Pointer { return C.malloc(C.size_t(16 + i%100)) }

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	var kept [64]unsafe.Pointer
	for i := 0; i < n; i++ {
		C.free(kept[i%64])
		kept[i%64] = makeBlock(i)
	}
}
