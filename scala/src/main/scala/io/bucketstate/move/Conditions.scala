package io.bucketstate.move

import java.util.Collections

import org.apache.spark.sql.catalyst.expressions.{
  AttributeReference,
  BindReferences,
  CommonExpressionRef,
  Expression,
  RuntimeReplaceable,
  Unevaluable,
  With
}
import org.apache.spark.sql.catalyst.optimizer.ComputeCurrentTime
import org.apache.spark.sql.catalyst.plans.logical.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{AnalysisException, Row, SparkSession}

import io.bucketstate.error.InvalidException
import io.bucketstate.move.read.SourceOperator

/** SQL conditions on the columns of a grouping key, understood by Spark as it understands a filter. */
private[move] object Conditions {

  /** The condition with the columns by their places in the key. Throws `InvalidException` for one that Spark refuses. */
  def bound(spark: SparkSession, condition: String, operator: SourceOperator): Expression = {
    val family = operator.stores.head.families.head
    val columns = StructType(family.deciding.grouping(family.keySchema).map(_._1))
    val frame =
      try spark.createDataFrame(Collections.emptyList[Row](), columns).filter(condition)
      catch {
        case e: AnalysisException =>
          throw new InvalidException(
            s"'$condition' is no condition on the key of operator ${operator.id}: ${e.getMessage.linesIterator.next()}",
            s"The columns of its key are ${columns.fields.map(f => s"${f.name} ${f.dataType.simpleString}").mkString(", ")}."
          )
      }
    // The time is one for all tasks.
    val plan = ComputeCurrentTime(frame.queryExecution.analyzed)
    val filter = plan.collectFirst { case f: Filter => f }.get
    val replaced = lowered(filter.condition)
    replaced
      .collectFirst { case e: Expression if isRefused(e) => e }
      .foreach { other =>
        throw new InvalidException(
          s"'$condition' cannot be asked of one key after the other: ${other.sql}",
          "Leave out queries within it, functions of Python, and what is another value each time it is asked."
        )
      }
    BindReferences.bindReference(replaced, filter.child.output)
  }

  private def isRefused(e: Expression): Boolean = e match {
    case _: AttributeReference => false
    case _: Unevaluable        => true
    case other                 => !other.deterministic
  }

  /** What Spark's optimizer makes of an expression before it can be evaluated: some stand for others, or name one twice. */
  private def lowered(e: Expression): Expression = e match {
    case r: RuntimeReplaceable => lowered(r.replacement)
    case w: With               =>
      val named = w.defs.map(d => d.id -> lowered(d.child)).toMap
      lowered(w.child.transform { case r: CommonExpressionRef => named(r.id) })
    case other => other.mapChildren(lowered)
  }
}
