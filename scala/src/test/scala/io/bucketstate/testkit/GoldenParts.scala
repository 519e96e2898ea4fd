package io.bucketstate.testkit

import java.nio.file.{Path, Paths}
import java.util.UUID

import scala.util.Using

import io.bucketstate.checkpoint.io.{Attempt, BlockCodec, ManifestName, NioFileStore, WorkFolder}
import io.bucketstate.checkpoint.manifest.{Manifest, ManifestFamily, Manifests}
import io.bucketstate.checkpoint.run.write.RunWriter
import io.bucketstate.checkpoint.run.{LocalRuns, VersionSpan}
import io.bucketstate.checkpoint.sst.SstOptions

/** A run of one file, whose index and filter are in parts, and its manifest: kept as golden files. */
object GoldenParts {
  val folder: Path = Paths.get("tests/golden/v1/parts")

  val file: ManifestName = ManifestName(Attempt(1, None))

  val content: Runs.Content = Runs.nothing ++ (0 until 3000).map { i =>
    Runs.place(0, i / 750, f"key-$i%05d".getBytes("UTF-8")) ->
      Some(s"value of $i".getBytes("UTF-8").toSeq)
  }

  /** Writes them; was run once, and is not to be run again. */
  def main(args: Array[String]): Unit = TempFolder.use { work =>
    val id = UUID.nameUUIDFromBytes("golden parts".getBytes("UTF-8"))
    Using.resource(new NioFileStore(folder)) { store =>
      val local = new LocalRuns(store, WorkFolder(work, temporary = true))
      val options = SstOptions(BlockCodec.Lz4, blockBytes = 256)
      val run = new RunWriter(store, local, options, Long.MaxValue, () => id)
        .write(VersionSpan(1, 1), Runs.cursor(content), oldest = true)
      val families = Seq(ManifestFamily(Changes.descriptor(0), Some(content.size.toLong)))
      new Manifests(store).write(
        Manifest("state/0/0", version = 1, numBuckets = 4, "xxh64", families, Seq(run))
      )
    }
  }
}
