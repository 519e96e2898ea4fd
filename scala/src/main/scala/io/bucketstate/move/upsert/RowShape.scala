package io.bucketstate.move.upsert

import org.apache.spark.sql.catalyst.expressions.Expression

/**
 * How rows that somebody gives become keys and values of a column family. All are expressions over a row's columns, bound by
 * their places. Immutable; goes to executors.
 *
 * @param family  its name
 * @param refused what must not be true of a row, and why
 */
private[move] final case class RowShape(
    family: String,
    keys: Seq[Expression],
    values: Seq[Expression],
    refused: Seq[(Expression, String)]
)
