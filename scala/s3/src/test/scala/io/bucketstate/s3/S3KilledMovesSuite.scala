package io.bucketstate.s3

import java.util.concurrent.atomic.AtomicInteger

import scala.util.Using

import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.state.StoreMaintenance
import org.scalatest.BeforeAndAfterAll

import io.bucketstate.Checkpoints
import io.bucketstate.move.{MoveArguments, MoveCommand}
import io.bucketstate.testkit.{ChildJvm, ProviderHarness, Seeds, TidySuite}

/** A move into S3A whose driver is killed behind some of the files that it puts there; then the same move again. */
class S3KilledMovesSuite extends TidySuite with MovedSums with BeforeAndAfterAll {
  import MovedSums._
  import S3KilledMovesSuite._

  private lazy val bucket = new Bucket

  override protected def afterAll(): Unit = bucket.close()

  for (way <- Ways.take(Seeds.of(few = 0, many = Ways.size)))
    test(s"$way: no query starts on what there is, and the same move is made") {
      withSession(bucket.sparkSettings: _*) { (spark, folder) =>
        val input = new Input(spark, folder)
        val source = bucket.newLocation()
        input.feed(2)
        assert(input.run(source, way.from) == expected(2))
        StoreMaintenance.stop()
        val before = tree(spark, source)
        assert(before.nonEmpty)
        val (unharmed, files) = killed(way.words(source, bucket.newLocation()), Int.MaxValue)
        assert(unharmed.exitCode == 0, unharmed.output)
        // Of the last ones each, whose order is certain, and some of those before.
        val tried = Seq(1, files / 4, files / 2, files * 3 / 4) ++ (files - 2 to files)
        for ((last, n) <- tried.zipWithIndex) {
          val target = bucket.newLocation()
          val words = way.words(source, target)
          val (died, _) = killed(words, last)
          val what = s"file $last of $files"
          assert(died.exitCode == ChildJvm.Killed, s"$what: ${died.output}")
          val begun = tree(spark, target)
          val isThere = begun.get("metadata").exists(_.headOption.contains('{'.toByte))
          // The query's own file is published last but for the end of the marker.
          assert(isThere == (last >= files - 1), what)
          if (!isThere) {
            val error = intercept[Exception](input.run(target, way.to))
            val causes = Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null)
            assert(causes.mkString("\n").contains("move_into_this_folder_is_not_finished"), what)
            assert(tree(spark, target) == begun, what)
            val again = MoveArguments.parse(words).request
            assert(Checkpoints.plan(spark, again).run().keys == Keys, what)
          }
          assert(tree(spark, source) == before, what)
          // It has seen those files alone that the source had, and goes on with the others.
          input.feed(1)
          assert(input.run(target, way.to) == expected(3 + n), what)
        }
      }
    }

  /** A command that is killed as soon as the store has so many files of it; how many there were. */
  private def killed(words: Seq[String], last: Int): (ChildJvm.Ended, Int) = {
    val files = new AtomicInteger
    val child = MoveCommand.start(bucket.sparkSettings, words)
    val ended = bucket.proxy.during { seen =>
      // A file that is renamed is copied, and a folder is nothing that is published.
      val isFile = (seen.kind == "PUT" || seen.kind == "COPY") && !seen.what.endsWith("/")
      Option.when(isFile && files.incrementAndGet() == last)(Trouble.Waits(() => child.kill()))
    }(child.end())
    (ended, files.get)
  }

  /** Every file with what is in it. */
  private def tree(spark: SparkSession, location: String): Map[String, Seq[Byte]] = {
    val root = new Path(location)
    val system = root.getFileSystem(spark.sessionState.newHadoopConf())
    files(system, root).map { file =>
      val bytes = Using.resource(system.open(file))(_.readAllBytes)
      root.toUri.relativize(file.toUri).getPath -> bytes.toSeq
    }.toMap
  }

  private def files(system: FileSystem, root: Path): Seq[Path] = {
    val all = system.listFiles(root, true)
    Iterator.continually(all).takeWhile(_.hasNext).map(_.next().getPath).toSeq
  }
}

private object S3KilledMovesSuite {

  /**
   * @param from the class of the provider that the source is of
   * @param more words of the command
   */
  final case class Way(kind: String, from: String, to: String, more: String*) {
    def words(source: String, target: String): Seq[String] =
      Seq(kind, source, target, "--partitions", "3") ++ more

    override def toString: String = (kind +: more).mkString(" ")
  }

  private val Ours = ProviderHarness.ProviderClass

  val Ways: Seq[Way] = Seq(
    Way("import", MovedSums.Hdfs, Ours),
    Way("rewrite", Ours, Ours, "--buckets", "8"),
    Way("export", Ours, MovedSums.Hdfs, "--to", "hdfs")
  )
}
