package io.bucketstate.spark.many

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.python.ManyKeysRunner
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnVector, ColumnarBatch}
import org.apache.spark.unsafe.types.UTF8String

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

  /** The timers that end with the call, of an answer with variables. */
  def ended(line: Int): Array[Long] = times(4, line)

  /** Those that begin. */
  def begun(line: Int): Array[Long] = times(5, line)

  /** Whether the call wrote its n-th part. */
  def wrote(part: Int, line: Int): Boolean = !partOf(part).isNullAt(line)

  /** What it wrote; null where it cleared the part. */
  def part(part: Int, line: Int): UTF8String = {
    val values = partOf(part).getChild(0)
    if (values.isNullAt(line)) null else values.getUTF8String(line)
  }

  private def partOf(n: Int): ColumnVector = line.getChild(6).getChild(n)

  private def times(child: Int, at: Int): Array[Long] = {
    val column = line.getChild(child)
    if (column.isNullAt(at)) Array.empty else column.getArray(at).toLongArray
  }

  def hasRow(line: Int): Boolean = !rows.isNullAt(line)

  def row(line: Int): InternalRow = rows.getStruct(line)
}
