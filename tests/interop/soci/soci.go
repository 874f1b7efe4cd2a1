// soci.go - SOCI's library, to make a ztoc and to read one
// SPDX-License-Identifier: BSD-2-Clause
//
// soci make LAYER ZTOC SPAN TOOL: makes the ztoc of a layer, gzip by its name
// .gz or not compressed; TOOL is what the ztoc says has made it.
//
// soci read LAYER ZTOC: verifies the digest of every span, extracts every
// regular file through the ztoc, and prints its SHA-256 and name.
package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/awslabs/soci-snapshotter/ztoc"
	"github.com/awslabs/soci-snapshotter/ztoc/compression"
	"github.com/opencontainers/go-digest"
)

func build(layer, name, span, tool string) error {
	size, err := strconv.ParseInt(span, 10, 64)
	if err != nil {
		return err
	}
	algorithm := compression.Uncompressed
	if strings.HasSuffix(layer, ".gz") {
		algorithm = compression.Gzip
	}
	z, err := ztoc.NewBuilder(tool).BuildZtoc(layer, size,
		ztoc.WithCompression(algorithm))
	if err != nil {
		return err
	}
	data, _, err := ztoc.Marshal(z)
	if err != nil {
		return err
	}
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, data)
	return errors.Join(err, out.Close())
}

// verify compares the digest of every span.
func verify(z *ztoc.Ztoc, r io.ReaderAt, size int64) error {
	info, err := z.Zinfo()
	if err != nil {
		return err
	}
	defer info.Close()
	for i := compression.SpanID(0); i <= info.MaxSpanID(); i++ {
		from := int64(info.StartCompressedOffset(i))
		to := int64(info.EndCompressedOffset(i,
			compression.Offset(size)))
		found, err := digest.FromReader(io.NewSectionReader(r, from,
			to-from))
		if err != nil {
			return err
		}
		if found != z.SpanDigests[i] {
			return fmt.Errorf("span %d: the digest differs", i)
		}
	}
	return nil
}

func read(layer, name string) error {
	index, err := os.Open(name)
	if err != nil {
		return err
	}
	z, err := ztoc.Unmarshal(index)
	if err != nil {
		return err
	}
	file, err := os.Open(layer)
	if err != nil {
		return err
	}
	size := int64(z.CompressedArchiveSize)
	r := io.NewSectionReader(file, 0, size)
	if err := verify(z, file, size); err != nil {
		return err
	}
	for _, f := range z.FileMetadata {
		if f.Type != "reg" {
			continue
		}
		data, err := z.ExtractFile(r, f.Name)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		fmt.Printf("%x  %s\n", sha256.Sum256(data), f.Name)
	}
	return nil
}

func run(args []string) error {
	switch {
	case len(args) == 6 && args[1] == "make":
		return build(args[2], args[3], args[4], args[5])
	case len(args) == 4 && args[1] == "read":
		return read(args[2], args[3])
	}
	return errors.New("usage: soci make layer ztoc span tool, " +
		"soci read layer ztoc")
}

func main() {
	if err := run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "soci:", err)
		os.Exit(1)
	}
}
