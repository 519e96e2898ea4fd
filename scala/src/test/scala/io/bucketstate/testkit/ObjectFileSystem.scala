package io.bucketstate.testkit

import java.io.ByteArrayOutputStream
import java.net.URI
import java.nio.file.{Files, Paths, StandardCopyOption}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable

/**
 * An object store over a local folder, as its client shows it to Hadoop: a file appears whole when it is closed, a write
 * can be aborted, a create can be refused by the store, there are no folders, and nothing can be renamed. Its calls
 * follow the folder's [[FaultyFileManager.Script]], if there is one.
 */
final class ObjectFileSystem extends FileSystem {
  private val local = new RawLocalFileSystem

  override def initialize(name: URI, conf: Configuration): Unit = {
    super.initialize(name, conf)
    local.initialize(URI.create("file:///"), conf)
  }

  override def getScheme: String = ObjectFileSystem.Scheme

  override def getUri: URI = URI.create(s"${ObjectFileSystem.Scheme}:///")

  override def hasPathCapability(path: Path, capability: String): Boolean = capability match {
    case CommonPathCapabilities.ABORTABLE_STREAM =>
      !getConf.getBoolean(ObjectFileSystem.CannotAbort, false)
    case "fs.option.create.conditional.overwrite" =>
      !getConf.getBoolean(ObjectFileSystem.CannotRefuse, false)
    case _ => super.hasPathCapability(path, capability)
  }

  override def createFile(path: Path): FSDataOutputStreamBuilder[_ <: FSDataOutputStream, _] =
    new Builder(path)

  override def open(path: Path, bufferSize: Int): FSDataInputStream = called("open", path) {
    local.open(onDisk(path), bufferSize)
  }

  override def listStatus(path: Path): Array[FileStatus] = called("list", path) {
    local.listStatus(onDisk(path)).map(found => at(new Path(path, found.getPath.getName), found))
  }

  override def getFileStatus(path: Path): FileStatus = called("exists", path) {
    at(path, local.getFileStatus(onDisk(path)))
  }

  override def delete(path: Path, recursive: Boolean): Boolean = called("delete", path) {
    Files.deleteIfExists(fileOf(path))
  }

  override def create(
      path: Path,
      permission: FsPermission,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable
  ): FSDataOutputStream = throw unexpected("create, which would look for the file first")

  override def append(path: Path, bufferSize: Int, progress: Progressable): FSDataOutputStream =
    throw unexpected("append")

  override def rename(from: Path, to: Path): Boolean = throw unexpected("rename")

  override def mkdirs(path: Path, permission: FsPermission): Boolean = throw unexpected("mkdirs")

  override def setWorkingDirectory(path: Path): Unit = ()

  override def getWorkingDirectory: Path = new Path(getUri)

  private def unexpected(what: String) = new UnsupportedOperationException(
    s"$what in an object store"
  )

  /** Without what only a local file has. */
  private def at(path: Path, found: FileStatus): FileStatus = new FileStatus(
    found.getLen,
    found.isDirectory,
    1,
    found.getBlockSize,
    found.getModificationTime,
    path
  )

  private def onDisk(path: Path): Path = new Path("file", null, path.toUri.getPath)

  private def fileOf(path: Path) = Paths.get(path.toUri.getPath)

  private def called[A](what: String, path: Path)(body: => A): A =
    FaultyFileManager.calling(path, s"$what ${path.getName}")(body)

  private final class Builder(path: Path)
      extends FSDataOutputStreamBuilder[FSDataOutputStream, Builder](this, path) {

    override def getThisBuilder: Builder = this

    override def build(): FSDataOutputStream = {
      rejectUnknownMandatoryKeys(
        java.util.Set.of("fs.option.create.conditional.overwrite"),
        s"for $path"
      )
      val onlyNew = getOptions.getBoolean("fs.option.create.conditional.overwrite", false)
      require(
        getOptions.getBoolean("fs.s3a.create.performance", false),
        "it is to look for nothing"
      )
      called("create", path)(new FSDataOutputStream(new Upload(path, onlyNew), null))
    }
  }

  private final class Upload(path: Path, onlyNew: Boolean)
      extends ByteArrayOutputStream
      with Abortable {
    private var isOver = false

    override def close(): Unit = if (!isOver) {
      isOver = true
      called("publish", path) {
        val target = fileOf(path)
        Files.createDirectories(target.getParent)
        val refuses = onlyNew && !getConf.getBoolean(ObjectFileSystem.IgnoresCondition, false)
        if (refuses && Files.exists(target)) {
          throw new FileAlreadyExistsException(s"$path: precondition failed")
        }
        val whole = Files.createTempFile("upload", null)
        Files.write(whole, toByteArray)
        Files.move(whole, target, StandardCopyOption.ATOMIC_MOVE)
        ()
      }
    }

    override def abort(): Abortable.AbortableResult = {
      val wasOver = isOver
      isOver = true
      if (!wasOver) called("cancel", path)(())
      new Abortable.AbortableResult {
        override def alreadyClosed(): Boolean = wasOver
        override def anyCleanupException(): java.io.IOException = null
      }
    }
  }
}

object ObjectFileSystem {
  val Scheme = "objects"

  /** Settings of clients that can do less. */
  val CannotAbort: String = s"fs.$Scheme.cannot.abort"
  val CannotRefuse: String = s"fs.$Scheme.cannot.refuse"

  /** Of a store that replaces a file whatever the client asks for. */
  val IgnoresCondition: String = s"fs.$Scheme.ignores.condition"

  /** Makes it the file system of that scheme. */
  def configure(conf: Configuration): Unit = {
    conf.set(s"fs.$Scheme.impl", classOf[ObjectFileSystem].getName)
    conf.setBoolean(s"fs.$Scheme.impl.disable.cache", true)
  }
}
