package io.bucketstate.testkit

import java.nio.file.{Files, Path, Paths}

import scala.util.Using

import io.bucketstate.checkpoint.changelog.{ChangelogHeader, ChangelogWriter}
import io.bucketstate.checkpoint.io.{Attempt, BlockCodec, NioFileStore}
import io.bucketstate.record.{ChangeSet, FamilyChanges, RecordOp}

/**
 * The changelog that is kept as a golden file of its format version: two families of all that were ever
 * made, puts, removes and merges, blocks that shrank and blocks that did not, and all that a header can
 * hold.
 */
object GoldenChangelog {
  val folder: Path = Paths.get("tests/golden/v1")
  val numBuckets = 8

  val file: Attempt = Attempt(7, Some("3e0c8f1a-5b7d-4c2e-9a64-d1f2b3c4e5a6"))

  val header: ChangelogHeader = Changes
    .header(7, numBuckets, BlockCodec.Lz4)
    .copy(
      // No store has this one: the layout is the same whichever name there is.
      hashFunction = "murmur3_x86_32/1",
      checkpointId = file.checkpointId,
      baseId = Some("a9b8c7d6-0e1f-4a2b-8c3d-4e5f60718293")
    )

  val keyCounts: Map[Int, Long] = Map(0 -> 1234567890123L, 2 -> 5L)

  /** By family. */
  val writes: Seq[(Int, Seq[Write])] = Seq(
    0 -> (0 until 100).map { i =>
      val value = if (i % 7 == 3) None else Some(text(s"value $i of many that look alike"))
      Write(i * numBuckets / 100, text(s"key-$i"), value)
    },
    2 -> Seq(
      Write(1, Nil, Some(text("a key may be empty"))),
      Write(1, text("so may a value"), Some(Nil)),
      Write(5, text("ключ"), None),
      Write(5, text("a removal of nothing leaves no trace"), None, visible = false),
      Write(6, text("a list"), Some(text("appended to it")), appended = true)
    )
  )

  /** More than there are: some were removed. */
  val nextFamily = 5

  def families: Seq[FamilyChanges] = writes.map { case (id, w) =>
    val plain = Changes.descriptor(id)
    val descriptor =
      if (id == 0) plain else plain.copy(valueEncoding = "compact-rows/1", isInternal = true)
    Changes.of(descriptor, numBuckets, w, keyCounts.get(id))
  }

  /** One line per record, as in the text beside the golden file: family, operation, key, value. */
  def lines(reads: Seq[Read]): Seq[String] = reads.map { r =>
    def hex(b: Seq[Byte]) = if (b.isEmpty) "-" else b.map(x => f"$x%02x").mkString
    val op =
      Map(RecordOp.Put -> "put", RecordOp.Remove -> "remove", RecordOp.Merge -> "merge")(r.op)
    s"${r.family} $op ${hex(r.key)} ${hex(r.value)}"
  }

  def expected: Seq[Read] = writes.flatMap { case (id, w) => Changes.expected(id, w) }

  private def text(s: String): Seq[Byte] = s.getBytes("UTF-8").toSeq

  /** Writes the file; was run once for each format version, and is not to be run for it again. */
  def main(args: Array[String]): Unit = {
    val changes = new ChangeSet(file.version, families.toIndexedSeq, nextFamily)
    Using.resources(new ChangelogWriter(blockBytes = 1024), new NioFileStore(folder)) {
      (writer, store) =>
        store.write(file.changelog)(writer.encode(header, changes).writeTo)
        val text = lines(expected).mkString("", "\n", "\n")
        Files.writeString(folder.resolve(s"${file.changelog}.txt"), text)
        ()
    }
  }
}
