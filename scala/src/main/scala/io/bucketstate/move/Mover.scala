package io.bucketstate.move

import java.time.Clock

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.state.SparkSessions
import org.apache.spark.util.SerializableConfiguration

import io.bucketstate.error.{
  ConflictException,
  CorruptException,
  InvalidException,
  UnavailableException
}
import io.bucketstate.move.job.{
  ColumnSearch,
  JobFailure,
  Progress,
  RowSum,
  SideBySide,
  StoreJob,
  StoreMoved,
  StoreWork
}
import io.bucketstate.move.log.QueryFolder

/** Carries out a plan. For one thread, once. */
private[move] final class Mover(
    spark: SparkSession,
    plan: PlannedMove,
    progress: Progress,
    clock: Clock
) {
  private[this] val conf = SparkSessions.hadoopConf(spark)
  private[this] val hadoop = spark.sparkContext.broadcast(new SerializableConfiguration(conf))

  private def job(work: StoreWork, requireOwn: Configuration => Unit = _ => ()): StoreJob = {
    progress.requireWanted()
    new StoreJob(spark, work, hadoop, progress, plan.rows, requireOwn)
  }

  /** Reads all, and writes nothing. */
  def read(): MoveReport = {
    val started = clock.millis()
    val all = works()
    progress.begin("read")
    val moved = each(all)(job(_).readOnly())
    moved.foreach(requirePlaced)
    new MoveReport(plan, moved, isPublished = false, started, clock.millis())
  }

  def run(): MoveReport = {
    plan.requirePossible()
    if (plan.request.inPlace) inPlace() else toTarget()
  }

  private def toTarget(): MoveReport = {
    val target =
      new QueryFolder(new Path(plan.request.target), conf, Publishing.objectStores(spark))
    try into(target)
    finally target.close()
  }

  private def into(target: QueryFolder): MoveReport = {
    val started = clock.millis()
    val publishing = new Publishing(plan, target)
    publishing.begin(started)
    val moved = copied(publishing.own)
    progress.begin("publish state")
    publishing.requireOwn()
    each(moved)(one => job(one.work).publish(one))
    publishing.metadata()
    progress.begin("verify")
    each(moved)(verify)
    requireUnchanged()
    progress.begin("publish")
    progress.commit()
    publishing.logs(moved)
    val report = new MoveReport(plan, moved, isPublished = true, started, clock.millis())
    publishing.finish(report)
    report
  }

  private def copied(requireOwn: Configuration => Unit = _ => ()): Seq[StoreMoved] = {
    val all = works()
    progress.begin("copy")
    each(all) { work =>
      val one = job(work, requireOwn).copy()
      requirePlaced(one)
      one
    }
  }

  private def inPlace(): MoveReport = {
    val started = clock.millis()
    val rewrite = new InPlace(plan.source, plan.partitions)
    rewrite.begin(started)
    var isPlanned = false
    val moved = try {
      val moved = copied()
      progress.begin("publish state")
      rewrite.plan()
      isPlanned = true
      each(moved)(one => job(one.work).publish(one))
      rewrite.metadata()
      progress.begin("verify")
      each(moved)(verify)
      progress.begin("publish")
      rewrite.requireAlone()
      progress.commit()
      rewrite.commit(Option.when(plan.hasIds)(Publishing.idsOf(plan.source, moved)))
      moved
    } catch {
      case NonFatal(failure) =>
        takeBack(rewrite, isPlanned, failure)
        throw failure
    }
    rewrite.committed()
    new MoveReport(plan, moved, isPublished = true, started, clock.millis())
  }

  /** After a failure all is to be as it was. What cannot be taken back is told. */
  private def takeBack(rewrite: InPlace, isPlanned: Boolean, failure: Throwable): Unit =
    try {
      // An answer may have got lost: then the plan is there all the same. Somebody else's is left alone.
      val isOwn = isPlanned || (failure.isInstanceOf[UnavailableException] && rewrite.isPlanned)
      if (isOwn) rewrite.takeBack() else rewrite.end()
    } catch {
      case NonFatal(second) =>
        failure.addSuppressed(second)
        throw new UnavailableException(
          s"The rewrite of ${plan.sourceLocation}",
          s"it failed (${failure.getMessage}), and what it had begun could not be taken back (${second.getMessage})",
          "No query starts on it until the same command is run again, or the same with --undo.",
          failure
        )
    }

  /** What is to be done, now that it is known by which columns each operator lies. */
  private def works(): Seq[StoreWork] = {
    progress.begin("look at keys")
    plan.works.groupBy(_.store.operator).toSeq.sortBy(_._1).flatMap { case (_, stores) =>
      if (plan.source.isStrict || stores.forall(_.leavesKeys)) stores
      else {
        val fits = each(stores)(job(_).fitting()).reduce(_ & _)
        val deciding = ColumnSearch.chosen(stores.head, fits)
        stores.map(_.deciding(deciding))
      }
    }
  }

  private def requirePlaced(moved: StoreMoved): Unit =
    if (moved.misplaced > 0 && !moved.work.staysPut) {
      throw new InvalidException(
        s"${moved.misplaced} of ${(moved.kept + moved.deleted).keys} keys of ${moved.work.name} do not lie in the " +
          "partition of their hash: another rule than Spark's own has placed them",
        "Clone the checkpoint instead, which moves no keys. Nothing was published."
      )
    }

  /** Reads back what was written, or at least holds the numbers of keys against each other. */
  private def verify(moved: StoreMoved): Unit =
    if (!plan.request.verifyFully) {
      if (moved.writtenKeys != moved.kept.keys) throw wrong(moved, s"${moved.writtenKeys} keys")
    } else {
      val back = job(moved.work).readBack(moved)
      if (back != moved.kept) throw wrong(moved, told(back))
    }

  private def wrong(moved: StoreMoved, found: String) = new CorruptException(
    s"The target of ${moved.work.name}",
    s"expected ${told(moved.kept)}, found $found",
    "Nothing was published. Run the same move again, and report it if it fails again."
  )

  private def told(sum: RowSum): String =
    f"${sum.keys} keys and ${sum.values} values that add up to ${sum.sum}%016x"

  /** A query that runs deletes what it does not need, and goes on. */
  private def requireUnchanged(): Unit = {
    val before = plan.source.files
    val after = plan.source.folder.lengths("")
    def logs(files: Map[String, Long]) =
      files.filter { case (name, _) => name.startsWith("offsets/") || name.startsWith("commits/") }
    val gone = before.find { case (name, length) => !after.get(name).contains(length) }
    if (logs(before) != logs(after) || gone.isDefined) {
      throw new ConflictException(
        s"${plan.sourceLocation} has changed since the move was planned" +
          gone.fold("")(file => s" (${file._1} was replaced or deleted)"),
        "Stop the query, wait until its application has ended, and run the same move again. Nothing was published."
      )
    }
  }

  /** Side by side: a job of few tasks would leave the others waiting. Throws what went wrong first. */
  private def each[A, B](all: Seq[A])(body: A => B): Seq[B] =
    try SideBySide.each(all)(body)
    catch { case NonFatal(e) => throw JobFailure.told(e) }
}
