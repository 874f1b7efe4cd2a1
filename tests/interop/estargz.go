// estargz - reads and makes layers with the stargz project's library
// SPDX-License-Identifier: BSD-2-Clause
//
//	estargz verify gzip|zstd FILE TOC-DIGEST >LIST
//
// opens the layer, verifies its table of contents and every chunk, and lists
// each file with the SHA-256 of what the library reads from it.
//
//	estargz make gzip|zstd TAR OUT [CHUNK [PRIORITIZED...]]
//
// makes a layer and prints the digest of its table of contents.
package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"

	"github.com/containerd/stargz-snapshotter/estargz"
	"github.com/containerd/stargz-snapshotter/estargz/zstdchunked"
	"github.com/klauspost/compress/zstd"
	digest "github.com/opencontainers/go-digest"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "estargz:", err)
		os.Exit(1)
	}
}

func section(path string) *io.SectionReader {
	f, err := os.Open(path)
	must(err)
	st, err := f.Stat()
	must(err)
	return io.NewSectionReader(f, 0, st.Size())
}

// walk calls fn for every name below dir, in order.
func walk(dir *estargz.TOCEntry, path string,
	fn func(path string, e *estargz.TOCEntry)) {
	names := map[string]*estargz.TOCEntry{}
	sorted := []string{}
	dir.ForeachChild(func(name string, e *estargz.TOCEntry) bool {
		names[name] = e
		sorted = append(sorted, name)
		return true
	})
	sort.Strings(sorted)
	for _, name := range sorted {
		fn(path+name, names[name])
		if names[name].Type == "dir" {
			walk(names[name], path+name+"/", fn)
		}
	}
}

// verifyFile reads a file chunk by chunk and verifies each chunk's digest.
func verifyFile(r *estargz.Reader, v estargz.TOCEntryVerifier, path string,
	e *estargz.TOCEntry) string {
	path = e.Name // of a hard link's target, which has the chunks
	f, err := r.OpenFile(path)
	must(err)
	sum := sha256.New()
	for at := int64(0); at < e.Size; {
		chunk, ok := r.ChunkEntryForOffset(path, at)
		if !ok {
			must(fmt.Errorf("%s: no chunk at %d", path, at))
		}
		check, err := v.Verifier(chunk)
		must(err)
		// in one read: the library decompresses from the chunk's start
		data := make([]byte, chunk.ChunkSize)
		_, err = f.ReadAt(data, at)
		must(err)
		check.Write(data)
		sum.Write(data)
		if !check.Verified() {
			must(fmt.Errorf("%s: wrong chunk at %d", path, at))
		}
		at += chunk.ChunkSize
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

func verify(kind, path, toc string) {
	opts := []estargz.OpenOption{}
	if kind == "zstd" {
		opts = append(opts, estargz.WithDecompressors(
			new(zstdchunked.Decompressor)))
	}
	r, err := estargz.Open(section(path), opts...)
	must(err)
	v, err := r.VerifyTOC(digest.Digest(toc))
	must(err)
	root, ok := r.Lookup("")
	if !ok {
		must(fmt.Errorf("no root"))
	}
	walk(root, "", func(path string, e *estargz.TOCEntry) {
		sum := "-"
		if e.Type == "reg" && e.Size > 0 {
			sum = verifyFile(r, v, path, e)
		}
		fmt.Printf("%s %s %d %s\n", sum, e.Type, e.Size, path)
	})
}

func build(kind, tar, out string, chunk int, prioritized []string) {
	opts := []estargz.Option{estargz.WithChunkSize(chunk),
		estargz.WithPrioritizedFiles(prioritized)}
	if kind == "zstd" {
		opts = append(opts, estargz.WithCompression(&zstdBoth{
			new(zstdchunked.Decompressor), &zstdchunked.Compressor{
				CompressionLevel: zstd.SpeedDefault}}))
	}
	blob, err := estargz.Build(section(tar), opts...)
	must(err)
	f, err := os.Create(out)
	must(err)
	// the digest that every converter computes from what it stores
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, sum), blob)
	must(err)
	must(f.Close())
	must(blob.Close())
	fmt.Println(blob.TOCDigest())
}

type zstdBoth struct {
	*zstdchunked.Decompressor
	*zstdchunked.Compressor
}

func main() {
	a := os.Args[1:]
	switch {
	case len(a) == 4 && a[0] == "verify":
		verify(a[1], a[2], a[3])
	case len(a) >= 4 && a[0] == "make":
		chunk := 0
		if len(a) > 4 {
			n, err := strconv.Atoi(a[4])
			must(err)
			chunk = n
		}
		files := []string{}
		if len(a) > 5 {
			files = a[5:]
		}
		build(a[1], a[2], a[3], chunk, files)
	default:
		must(fmt.Errorf("usage: estargz verify KIND FILE DIGEST | " +
			"make KIND TAR OUT [CHUNK [FILE...]]"))
	}
}
