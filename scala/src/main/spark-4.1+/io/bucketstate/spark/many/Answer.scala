package io.bucketstate.spark.many

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.python.ManyKeysRunner
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnarBatch}

/**
 * The lines of [[Protocol.answer]] that a worker sent. Its rows are valid until the next batch is asked for.
 *
 * @param expected their type; an answer of another one is refused
 */
private[many] final class Answer(batch: ColumnarBatch, expected: StructType) {
  private val line = batch.column(0).asInstanceOf[ArrowColumnVector]
  if (!ManyKeysRunner.sameType(line.dataType(), expected)) {
    throw ManyKeysErrors.otherType(line.dataType(), expected)
  }
  private val rows = line.getChild(0)
  private val actions = line.getChild(1)
  private val states = line.getChild(2)
  private val timeouts = line.getChild(3)

  def lines: Int = batch.numRows()

  /** Whether the line says what becomes of a key. */
  def settles(line: Int): Boolean = !actions.isNullAt(line)

  def action(line: Int): Byte = actions.getByte(line)

  /** Null where a key has a timeout and no state. */
  def state(line: Int): InternalRow = if (states.isNullAt(line)) null else states.getStruct(line)

  def timeout(line: Int): Long = timeouts.getLong(line)

  def hasRow(line: Int): Boolean = !rows.isNullAt(line)

  def row(line: Int): InternalRow = rows.getStruct(line)
}
