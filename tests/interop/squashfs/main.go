// SPDX-License-Identifier: BSD-2-Clause

// Prints what go-diskfs finds in a squashfs image: one line for each name,
// with its kind, its path, and the file's SHA-256 or the link's target.
package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/squashfs"
)

// linked is what go-diskfs's entries of symbolic links offer.
type linked interface {
	Readlink() (string, error)
}

func digest(img *squashfs.FileSystem, name string) (string, error) {
	f, err := img.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

func entry(img *squashfs.FileSystem, dir string, e fs.DirEntry) error {
	name := path.Join(dir, e.Name())
	info, err := e.Info()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		fmt.Println("d", name)
		return walk(img, name)
	case mode.IsRegular():
		sum, err := digest(img, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Println("f", name, sum)
	case mode&fs.ModeSymlink != 0:
		link, ok := e.(linked)
		if !ok {
			return fmt.Errorf("%s: no target", name)
		}
		target, err := link.Readlink()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Println("l", name, target)
	}
	return nil
}

func walk(img *squashfs.FileSystem, dir string) error {
	entries, err := img.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	for _, e := range entries {
		if err := entry(img, dir, e); err != nil {
			return err
		}
	}
	return nil
}

func list(image string) error {
	store, err := file.OpenFromPath(image, true)
	if err != nil {
		return err
	}
	defer store.Close()
	info, err := store.Stat()
	if err != nil {
		return err
	}
	img, err := squashfs.Read(store, info.Size(), 0, 0)
	if err != nil {
		return err
	}
	return walk(img, ".")
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: squashfs IMAGE")
		os.Exit(2)
	}
	if err := list(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}
