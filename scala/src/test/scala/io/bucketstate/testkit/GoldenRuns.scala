package io.bucketstate.testkit
import java.nio.file.{Files, Path, Paths}
import java.util.UUID

import scala.util.Using

import io.bucketstate.checkpoint.io.{Attempt, BlockCodec, ManifestName, NioFileStore, WorkFolder}
import io.bucketstate.checkpoint.manifest.{Manifest, ManifestFamily, Manifests}
import io.bucketstate.checkpoint.run.write.RunWriter
import io.bucketstate.checkpoint.run.{LocalRuns, TimeSpan, VersionSpan}
import io.bucketstate.checkpoint.sst.SstOptions

/**
 * The manifest and the runs that are kept as golden files of their format versions: two runs, two
 * families of all that were ever made, puts, tombstones and a merge, a run in two files, and all that a
 * manifest can hold.
 */
object GoldenRuns {

  /** As RocksDB's library wrote them. */
  val folder: Path = Paths.get("tests/golden/v1")

  /** The same as this project's own writer makes them. */
  val ownFolder: Path = Paths.get("tests/golden/v1/own-writer")

  val folders: Seq[Path] = Seq(folder, ownFolder)

  val file: ManifestName =
    ManifestName(Attempt(9, Some("5c2d8a10-7f3b-4e6a-8d19-c4b5a6978812")))

  private def text(s: String): Seq[Byte] = s.getBytes("UTF-8").toSeq

  val oldest: Runs.Content = Runs.nothing ++ (0 until 60).map { i =>
    Runs.place(0, i / 8, s"key-$i".getBytes("UTF-8")) -> Some(
      text(s"value $i of many that look alike")
    )
  } + (Runs.place(2, 7, Array()) -> Some(text("a key may be empty")))

  val newest: Runs.Content = Runs.nothing ++ Seq(
    Runs.place(0, 0, "key-3".getBytes("UTF-8")) -> None,
    Runs.place(0, 0, "key-4".getBytes("UTF-8")) -> Some(text("a newer value")),
    Runs.place(0, 0, "key-\u043a\u043b\u044e\u0447".getBytes("UTF-8")) -> Some(Nil),
    Runs.place(2, 7, Array()) -> None
  )

  private val listKey = Runs.place(0, 1, "key-9".getBytes("UTF-8"))

  /** Of the newest run too. */
  val appended: Runs.Content = Runs.nothing + (listKey -> Some(text(", and more")))

  val state: Runs.Content = Runs.merged(Seq(newest, oldest), dropRemovals = true) +
    (listKey -> Some(oldest(listKey).get ++ appended(listKey).get))

  /** One line per key of the merged state: family, bucket, key, value. */
  def lines: Seq[String] = state.toSeq.map { case ((family, bucket, key), value) =>
    def hex(b: Seq[Int]) = if (b.isEmpty) "-" else b.map(x => f"${x & 0xff}%02x").mkString
    s"$family $bucket ${hex(key)} ${hex(value.toSeq.flatten.map(_.toInt))}"
  }

  /** Writes the files of `ownFolder`; was run once, and is not to be run for it again. */
  def main(args: Array[String]): Unit = TempFolder.use { work =>
    val ids = Iterator.from(1).map(i => UUID.nameUUIDFromBytes(s"golden run $i".getBytes("UTF-8")))
    val options = SstOptions(BlockCodec.Lz4, blockBytes = 256)
    Using.resource(new NioFileStore(ownFolder)) { store =>
      val writer =
        new RunWriter(
          store,
          new LocalRuns(store, WorkFolder(work, temporary = true)),
          options,
          1000,
          () => ids.next()
        )
      val old = writer.write(VersionSpan(1, 7), Runs.cursor(oldest), oldest = true)
      val young =
        writer.write(VersionSpan(8, 9), Runs.cursor(newest ++ appended, appended.keySet), false)
      val schema = Some("""{"type":"struct","fields":[]}""")
      val families = Seq(
        ManifestFamily(Changes.descriptor(0), Some(60), schema, schema),
        ManifestFamily(Changes.descriptor(2).copy(isInternal = true), Some(0))
      )
      val runs =
        Seq(young.copy(files = young.files.map(_.copy(times = Some(TimeSpan(-1, 5))))), old)
      val base = Some("3e0c8f1a-5b7d-4c2e-9a64-d1f2b3c4e5a6")
      new Manifests(store)
        .write(
          Manifest(
            "state/0/3",
            9,
            8,
            "xxh64",
            families,
            runs,
            None,
            file.checkpointId,
            base,
            Some(5)
          )
        )
      Files.writeString(ownFolder.resolve(s"${file.name}.txt"), lines.mkString("", "\n", "\n"))
      ()
    }
  }
}
