package io.bucketstate.sql

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnresolvedDataSource}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.UNRESOLVED_RELATION
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap

/**
 * Lets SQL read the state by the path of its checkpoint, as {{{ SELECT * FROM bucketstate.`/path` WITH (batchId = 3) }}} which
 * Spark has for formats of files alone. A name without a slash is of a table. Changes nothing else. Thread-safe.
 *
 * @param format short name of the source
 */
private[bucketstate] final class PathRule(format: String) extends Rule[LogicalPlan] {

  override val ruleName: String = classOf[PathRule].getName

  override def apply(plan: LogicalPlan): LogicalPlan =
    plan.resolveOperatorsWithPruning(_.containsPattern(UNRESOLVED_RELATION)) {
      case UnresolvedRelation(Seq(name, path), options, false)
          if name.equalsIgnoreCase(format) && path.contains('/') && conf.runSQLonFile =>
        UnresolvedDataSource(
          format,
          None,
          CaseInsensitiveMap(options.asCaseSensitiveMap.asScala.toMap),
          isStreaming = false,
          Seq(path)
        )
    }
}
