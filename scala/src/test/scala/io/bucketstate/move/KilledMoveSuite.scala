package io.bucketstate.move

import java.nio.file.Path

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.functions.{count, lit}

import io.bucketstate.Checkpoints
import io.bucketstate.checkpoint.io.FileManagers
import io.bucketstate.move.job.RowSum
import io.bucketstate.move.write.EmptyStores
import io.bucketstate.testkit.{ChildJvm, KillingFileManager, ProviderHarness, Seeds, TidySuite}

/** A move whose process is killed behind any of the files that it publishes; then the same move again. */
class KilledMoveSuite extends TidySuite with CountsToMove {
  import CountsToMove._
  import KilledMoveSuite._

  for (way <- Ways.take(Seeds.of(few = 0, many = Ways.size)))
    test(
      s"$way, killed behind its files: no query starts on what there is, and the same move is made"
    ) {
      withSession() { (spark, folder) =>
        val source = folder.resolve("source")
        countInto(spark, source, way.from)
        val before = tree(source)
        def move(target: Path, last: Int): ChildJvm.Ended =
          MoveCommand.start(killedBehind(last), way.words(source, target)).end()

        val whole = folder.resolve("whole")
        val files = MoveCommand.published(move(whole, Int.MaxValue))
        val expected = way.read(spark, whole)
        assert(expected.keys == Keys)
        for (last <- if (way == Ways.head) Seeds.oneOf(28, 1 to files, 3) else some(files)) {
          val target = folder.resolve(s"target-$last")
          val died = move(target, last)
          val what = s"file $last of $files"
          assert(died.exitCode == ChildJvm.Killed, s"$what: ${died.output}")
          assert(tree(source) == before, what)
          val isThere = isWhole(target)
          // The query's own file is published last but for the end of the marker.
          assert(isThere == (last >= files - 1), what)
          if (!isThere) {
            val begun = tree(target)
            val said = refusal(spark, target, way.to)
            assert(said.contains("move_into_this_folder_is_not_finished"), what)
            assert(tree(target) == begun, what)
            val again = MoveArguments.parse(way.words(source, target)).request
            assert(Checkpoints.plan(spark, again).run().keys == Keys, what)
          }
          assert(sums(way.read(spark, target)) == sums(expected), what)
          assert(names(target) == names(whole), what)
          assert(tree(source) == before, what)
          ProviderHarness.deleteAll(target)
        }
      }
    }

  /** Why no query of that provider starts on it. */
  private def refusal(spark: SparkSession, checkpoint: Path, provider: String): String = {
    import spark.implicits._
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", Providers(provider))
    val input = memoryStream[Long](spark)
    input.addData(0L until 100L)
    val error = intercept[Exception] {
      val query = updates(input.toDF().groupBy("value").agg(count(lit(1))), checkpoint)
      try query.processAllAvailable()
      finally query.stop()
    }
    Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).mkString("\n")
  }

  private def sums(report: MoveReport): Seq[RowSum] = report.stores.map(_.kept)
}

private object KilledMoveSuite {

  /**
   * Where a state goes from and to.
   *
   * @param more words of the command that moves it
   */
  final case class Way(kind: MoveKind, from: String, to: String, more: String*) {
    def words(source: Path, target: Path): Seq[String] =
      Seq(kind.name, source.toString, target.toString, "--partitions", "3") ++ more

    /** All that a target holds, as its own provider reads it. */
    def read(spark: SparkSession, target: Path): MoveReport = {
      val again = if (to == Ours) MoveKind.Rewrite else MoveKind.Import
      Checkpoints.plan(spark, MoveRequest(again, target.toString, s"$target-x")).read()
    }

    override def toString: String = s"${kind.name} from $from to $to"
  }

  private val Ours = "bucketstate"

  val Ways: Seq[Way] = Seq(
    Way(MoveKind.Import, "hdfs", Ours),
    Way(MoveKind.Rewrite, Ours, Ours, "--buckets", "8"),
    Way(MoveKind.Export, Ours, "hdfs", "--to", "hdfs")
  ) ++ Option.when(EmptyStores.AreServed)(
    Way(MoveKind.Export, Ours, "rocksdb", "--to", "rocksdb")
  )

  /** One of four files, and of the last ones each: their order is certain, and what they are for differs. */
  def some(files: Int): Seq[Int] = (1 to files).filter(n => n % 4 == 1 || n > files - 3)

  def killedBehind(last: Int): Seq[(String, String)] = Seq(
    FileManagers.Setting -> classOf[KillingFileManager].getName,
    s"spark.hadoop.${KillingFileManager.Setting}" -> last.toString
  )

  /** The files but for those whose names are chance, and what readers do not see. */
  def names(checkpoint: Path): Set[String] =
    CountsToMove
      .tree(checkpoint)
      .keySet
      .filterNot(name =>
        name.endsWith(".sst") || Path.of(name).getFileName.toString.startsWith(".")
      )
}
