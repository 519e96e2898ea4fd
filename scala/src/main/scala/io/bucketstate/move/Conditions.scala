package io.bucketstate.move

import java.util.Collections

import org.apache.spark.sql.catalyst.expressions.{BindReferences, Expression, RuntimeReplaceable}
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
    val columns = StructType(family.deciding.fields(family.keySchema).map(_._1))
    val frame =
      try spark.createDataFrame(Collections.emptyList[Row](), columns).filter(condition)
      catch {
        case e: AnalysisException =>
          throw new InvalidException(
            s"'$condition' is no condition on the key of operator ${operator.id}: ${e.getMessage.linesIterator.next()}",
            s"The columns of its key are ${columns.fields.map(f => s"${f.name} ${f.dataType.simpleString}").mkString(", ")}."
          )
      }
    val filter = frame.queryExecution.analyzed.collectFirst { case f: Filter => f }.get
    val replaced = filter.condition.transformUp { case r: RuntimeReplaceable => r.replacement }
    BindReferences.bindReference(replaced, filter.child.output)
  }
}
