package io.bucketstate.move.read

import java.io.{DataInputStream, EOFException, FileNotFoundException}
import java.util.Arrays

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.StateStoreConf

import io.bucketstate.checkpoint.io.{Damage, StorageErrors}
import io.bucketstate.error.MissingException

/**
 * A partition in the files of Spark's `HDFSBackedStateStoreProvider`. Its provider holds a partition in memory; this streams
 * its files, the newest first, and remembers which keys of the deltas it has seen. A delta is read twice, because it has a key
 * as often as it was written.
 */
private[move] final class HdfsRows(
    store: SourceStore,
    root: Path,
    partition: Int,
    version: Long,
    conf: StateStoreConf,
    hadoop: Configuration
) extends StateRows {
  private[this] val folder = store.folder(root, partition)
  private[this] val system: FileSystem = folder.getFileSystem(hadoop)
  private[this] val family = store.families.head
  private[this] val files = HdfsFiles.leadingTo(version, names, folder)
  private[this] val seen = new KeyStamps
  private[this] var open = Option.empty[HdfsFile]
  private[this] val key = new UnsafeRow(family.keySchema.length)
  private[this] val value = new UnsafeRow(family.valueSchema.length)

  private[this] val rows =
    files.deltas.reverse.zipWithIndex.iterator.flatMap { case (name, age) => changed(name, age) } ++
      files.snapshot.iterator.flatMap { name =>
        pairs(name).filter(file => seen.isEmpty || seen.get(file.key) == 0L).map(rowOf)
      }

  /** What a delta left of the keys that no newer one has. */
  private def changed(name: String, age: Int): Iterator[StateRow] = {
    // Younger deltas have lower ages, and higher stamps.
    def stamp(place: Int): Long = (Int.MaxValue - age).toLong << 32 | place
    val youngest = stamp(0)
    pairs(name).zipWithIndex.foreach { case (file, place) =>
      val before = seen.get(file.key)
      if (before == 0L || before >>> 32 == youngest >>> 32) seen.put(file.key, stamp(place))
    }
    pairs(name).zipWithIndex.collect {
      case (file, place) if file.value != null && seen.get(file.key) == stamp(place) => rowOf(file)
    }
  }

  /** The pairs of a file; one file is open at a time. */
  private def pairs(name: String): Iterator[HdfsFile] = {
    close()
    val file = new HdfsFile(system, new Path(folder, name), conf)
    open = Some(file)
    Iterator.continually(file).takeWhile(_.advance())
  }

  private def rowOf(file: HdfsFile): StateRow = {
    key.pointTo(file.key, file.key.length)
    // Before Spark 2.3 some values were written with 4 bytes too many.
    value.pointTo(file.value, file.value.length / 8 * 8)
    new StateRow(family, key, Iterator.single(value))
  }

  private def names: Seq[String] = StorageErrors.translate(folder.toString, "could not be listed") {
    try system.listStatus(folder).toSeq.map(_.getPath.getName)
    catch { case _: FileNotFoundException => Nil }
  }

  override def hasNext: Boolean = rows.hasNext

  override def next(): StateRow = rows.next()

  override def close(): Unit = {
    open.foreach(_.close())
    open = None
  }
}

/**
 * The files that lead to a version: a snapshot, if there is one, and the deltas after it.
 *
 * @param deltas oldest first
 */
private[move] final case class HdfsFiles(snapshot: Option[String], deltas: Seq[String])

private[move] object HdfsFiles {

  /** Throws `MissingException` where one of them is not there. */
  def leadingTo(version: Long, names: Seq[String], folder: Path): HdfsFiles = {
    val there = names.toSet
    val snapshot = names
      .flatMap(_ match {
        case Snapshot(n) => n.toLongOption
        case _           => None
      })
      .filter(_ <= version)
      .maxOption
    val deltas = (snapshot.getOrElse(0L) + 1 to version).map(v => s"$v.delta")
    deltas.find(!there(_)).foreach { name =>
      throw new MissingException(
        s"$folder/$name",
        s"version $version of the state is made of it",
        "Take a batch that the query still has the files of, with --batch, or restore the file from a backup."
      )
    }
    HdfsFiles(snapshot.map(v => s"$v.snapshot"), deltas)
  }

  private val Snapshot = "([0-9]{1,18})\\.snapshot".r
}

/** One file, a pair after the other. For one thread. */
private[move] final class HdfsFile(system: FileSystem, path: Path, conf: StateStoreConf)
    extends AutoCloseable {
  private[this] val damage = new Damage(path.toString, "files of Spark's state store")
  private[this] val hasChecksums = HdfsFormat.hasChecksums(conf)
  private[this] val in: DataInputStream =
    StorageErrors.translate(path.toString, "could not be opened") {
      HdfsFormat.decompressed(system.open(path), conf)
    }

  /** The key of the pair that it stands on; not to be written to. */
  var key: Array[Byte] = _

  /** Null for a removal. */
  var value: Array[Byte] = _

  def advance(): Boolean = StorageErrors.translate(path.toString, "could not be read") {
    try {
      val size = in.readInt()
      if (size < HdfsFormat.End) throw damage(s"expected the length of a key, found $size")
      size != HdfsFormat.End && {
        pair(read(size))
        true
      }
    } catch { case e: EOFException => throw damage("it ends within a pair", e) }
  }

  private def pair(first: Array[Byte]): Unit = {
    val size = in.readInt()
    if (size < HdfsFormat.Removed) throw damage(s"expected the length of a value, found $size")
    if (size == HdfsFormat.Removed) {
      key = if (hasChecksums) checked(null, first) else first
      value = null
    } else {
      key = first
      val second = read(size)
      value = if (hasChecksums) checked(first, second) else second
    }
  }

  /** What stands behind a checksum. */
  private def checked(first: Array[Byte], bytes: Array[Byte]): Array[Byte] = {
    if (bytes.length < HdfsFormat.ChecksumBytes) throw damage("a row is shorter than its checksum")
    val rest = Arrays.copyOfRange(bytes, HdfsFormat.ChecksumBytes, bytes.length)
    val found =
      if (first == null) HdfsFormat.checksum(rest, null, 0) else HdfsFormat.checksum(first, rest, 0)
    val expected = HdfsFormat.checksumOf(bytes)
    if (found != expected) throw damage(s"expected a row with checksum $expected, found $found")
    rest
  }

  /** A length may be any number where a file is damaged: what is not there is not made room for. */
  private def read(size: Int): Array[Byte] = {
    val bytes = in.readNBytes(size)
    if (bytes.length != size) throw new EOFException
    bytes
  }

  override def close(): Unit = in.close()
}
