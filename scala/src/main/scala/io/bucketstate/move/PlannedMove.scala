package io.bucketstate.move

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import org.apache.spark.sql.DataFrame

import io.bucketstate.error.InvalidException
import io.bucketstate.move.job.StoreWork
import io.bucketstate.move.log.LogText
import io.bucketstate.move.read.{Provider, SourceQuery}

/**
 * What was found out of a move by reading metadata alone. Immutable.
 *
 * @param works       one for each store
 * @param stateBytes  of the source's files of state, old versions among them
 * @param session     settings that the query's session must have afterwards
 * @param findings    the gravest first
 * @param rows        that are put into the state, where there are some
 */
private[move] final class PlannedMove(
    val request: MoveRequest,
    val source: SourceQuery,
    val works: Seq[StoreWork],
    val partitions: Int,
    val hasIds: Boolean,
    val stateBytes: Map[Long, Long],
    val session: Seq[(String, String)],
    val findings: Seq[Finding],
    val rows: Option[DataFrame]
) {

  /** The batch whose state is moved: committed, and not necessarily the last. */
  def batch: Long = source.batch

  /** Why it is that one, for people. */
  def whyBatch: String = if (request.batch.isDefined) "as asked for" else "the last one committed"

  def sourceLocation: String = source.folder.location

  /** Where the result is: what was asked for, or the source itself. */
  def target: String = if (request.inPlace) sourceLocation else request.target

  /** The last batch of the result. */
  def lastBatch: Long = if (request.inPlace) batch + 1 else batch

  def targetProvider: Provider = request.provider

  /** What the target takes, about: the source's files have older versions, too. */
  def spaceBytes: Long = stateBytes.values.sum

  /** Whether nothing speaks against it. */
  def isPossible: Boolean = !findings.exists(_.severity == Severity.Error)

  /** Throws `InvalidException` with all that speaks against it. */
  def requirePossible(): Unit = {
    val errors = findings.filter(_.severity == Severity.Error).map(_.text)
    if (errors.nonEmpty) {
      throw new InvalidException(
        s"${request.source} cannot be moved so: ${errors.mkString(" ")}".stripSuffix("."),
        "Nothing was written."
      )
    }
  }

  /** The plan as JSON, for tools. */
  def json: String = {
    val all = LogText.Json.createObjectNode()
    all.put("kind", request.kind.name)
    all.put("source", sourceLocation).put("target", target)
    all.put("inPlace", request.inPlace)
    all.put("batch", batch).put("whyBatch", whyBatch).put("version", source.version)
    all.put("sourceProvider", source.provider.name).put("targetProvider", targetProvider.name)
    all.put("partitions", partitions).put("checkpointFormat", if (hasIds) 2 else 1)
    all.put("spaceBytes", spaceBytes)
    val operators = all.putArray("operators")
    works.groupBy(_.store.operator).toSeq.sortBy(_._1).foreach { case (id, stores) =>
      write(id, stores, operators.addObject())
    }
    val settings = all.putObject("session")
    session.foreach { case (key, value) => settings.put(key, value) }
    val texts: ArrayNode = all.putArray("findings")
    findings.foreach { finding =>
      texts.addObject().put("severity", finding.severity.name).put("text", finding.text)
    }
    all.toString
  }

  private def write(id: Long, stores: Seq[StoreWork], to: ObjectNode): Unit = {
    to.put("id", id).put("name", stores.head.store.operatorName)
    to.put("bytes", stateBytes.getOrElse(id, 0L))
    val all = to.putArray("stores")
    stores.foreach { work =>
      val store = all.addObject()
      store.put("name", work.store.name)
      store.put("partitionsBefore", work.had).put("partitionsAfter", work.targets)
      work.head.foreach(head => store.put("bucketsBefore", head.numBuckets))
      if (targetProvider == Provider.Ours) store.put("buckets", work.numBuckets)
      // Where nobody has counted them they are known when all was read.
      work.head.flatMap(_.keys).foreach(store.put("keys", _))
      val families = store.putArray("families")
      work.store.families.foreach { family =>
        families
          .addObject()
          .put("name", family.name)
          .put("key", family.keySchema.simpleString)
          .put("value", family.valueSchema.simpleString)
          .put("encoder", family.spec.getClass.getSimpleName)
          .put("lists", family.multiValued)
      }
    }
  }

  /** The plan as a table for people. */
  override def toString: String = PlannedMove.table(this)
}

private object PlannedMove {

  private def table(plan: PlannedMove): String = {
    val lines = Seq.newBuilder[String]
    lines += s"${plan.request.kind.name} of batch ${plan.batch}, ${plan.whyBatch} (version " +
      s"${plan.source.version}), ${plan.source.provider.name} to ${plan.targetProvider.name}"
    lines += s"  from ${plan.sourceLocation}"
    lines += (if (plan.request.inPlace) s"  in place, as batch ${plan.lastBatch}"
              else s"  to   ${plan.target}")
    plan.works.foreach { work =>
      val buckets =
        if (plan.targetProvider == Provider.Ours) {
          val before = work.head.fold("")(head => s"${head.numBuckets} to ")
          s", $before${work.numBuckets} buckets"
        } else ""
      val keys = work.head.flatMap(_.keys).fold("keys unknown until it is read")(n => s"$n keys")
      lines += s"  ${work.name} (${work.store.operatorName}): $keys, ${work.had} to ${work.targets} partitions$buckets"
    }
    lines += s"  takes about ${plan.spaceBytes} bytes, and the state once, uncompressed, in spark.local.dir"
    plan.session.foreach { case (key, value) => lines += s"  session: $key=$value" }
    plan.findings.foreach(f => lines += s"  ${f.severity.name}: ${f.text}")
    lines.result().mkString("\n")
  }
}
