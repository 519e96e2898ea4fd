package io.bucketstate.testkit;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFs;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FsConstants;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's local file systems, which do in the JVM what Hadoop's own fork a process for when its native library is
 * missing: a {@code chmod} for each file and folder that is made, and two {@code readlink} for each rename. Spark makes
 * its own files of a checkpoint through them, and renames each.
 *
 * <p>In Java, because the Python tests compile this file by itself.
 */
public final class ForklessFiles {
    private ForklessFiles() {}

    /** For who asks for a {@code FileSystem}. */
    public static final class OfSystem extends LocalFileSystem {
        /** Made by Hadoop, which calls it by name. */
        public OfSystem() {
            super(new Raw());
        }
    }

    /** For who asks for a {@code FileContext}. */
    public static final class OfContext extends ChecksumFs {
        /** Made by Hadoop, which calls it by name. */
        public OfContext(URI name, Configuration conf) throws IOException, URISyntaxException {
            super(new RawOfContext(name, conf));
        }
    }

    private static final class RawOfContext extends DelegateToFileSystem {
        RawOfContext(URI name, Configuration conf) throws IOException, URISyntaxException {
            super(name, new Raw(), conf, FsConstants.LOCAL_FS_URI.getScheme(), false);
        }

        @Override
        public int getUriDefaultPort() {
            return -1;
        }

        @Override
        public boolean isValidName(String name) {
            return true;
        }
    }

    private static final class Raw extends RawLocalFileSystem {
        @Override
        public void setPermission(Path path, FsPermission permission) throws IOException {
            // Java has no name for the tenth bit.
            if (permission.getStickyBit()) {
                super.setPermission(path, permission);
            } else {
                Files.setPosixFilePermissions(
                    pathToFile(path).toPath(), PosixFilePermissions.fromString(permission.toString()));
            }
        }

        @Override
        public FileStatus getFileLinkStatus(Path path) throws IOException {
            return Files.isSymbolicLink(pathToFile(path).toPath())
                ? super.getFileLinkStatus(path)
                : getFileStatus(path);
        }
    }
}
