package io.bucketstate.spark.many

import java.time.Duration

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.{
  ImplicitGroupingKeyTracker,
  StatefulProcessorHandleImpl
}
import org.apache.spark.sql.streaming.{TTLConfig, ValueState}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{Encoders, Row}
import org.apache.spark.unsafe.types.UTF8String

/**
 * The variables and timers of one task, which are Spark's own: what is stored, and in which order column families come
 * to be, is as when its state server is asked. Not thread-safe.
 *
 * @param key of the groups
 */
private[many] final class VariableStates(
    handle: StatefulProcessorHandleImpl,
    key: StructType,
    parts: Seq[PartVariable]
) {
  private val encoder = ExpressionEncoder(key).resolveAndBind()
  private val keyOf = encoder.createDeserializer()
  private val rowOf = encoder.createSerializer()
  private val document =
    handle.getValueState[Row](VariableStates.Name, Encoders.row(Protocol.Document), TTLConfig.NONE)
  private val texts: IndexedSeq[ValueState[Row]] = parts.map { part =>
    val ttl = part.ttlMillis.fold(TTLConfig.NONE)(millis => TTLConfig(Duration.ofMillis(millis)))
    handle.getValueState[Row](part.name, Encoders.row(Protocol.Part), ttl)
  }.toIndexedSeq

  /** The call for the rows of a key. */
  def called(found: InternalRow, rows: Iterator[InternalRow]): Call =
    call(keyOf(found), found, Array.empty, timedOut = false, rows)

  /**
   * The calls for timers up to a time, each of a key with all that have fired.
   *
   * As many are read ahead as a batch of Arrow holds, so no key may be among them twice.
   */
  def fired(until: Long): Iterator[Call] = {
    val called = mutable.HashSet.empty[Row]
    handle.getExpiredTimers(until).flatMap { case (found, _) =>
      val named = found.asInstanceOf[Row]
      if (called(named)) None
      else {
        ImplicitGroupingKeyTracker.setImplicitKey(named)
        val due = handle.listTimers().filter(_ <= until).toArray.sorted
        if (due.length > 1) called += named
        Option.when(due.nonEmpty)(call(named, rowOf(named), due, timedOut = true, Iterator.empty))
      }
    }
  }

  private def call(
      named: Row,
      found: InternalRow,
      due: Array[Long],
      timedOut: Boolean,
      rows: Iterator[InternalRow]
  ): Call = {
    ImplicitGroupingKeyTracker.setImplicitKey(named)
    val kept = document.get()
    val text = textOf(kept, 2)
    val held = texts.map(variable => textOf(variable.get(), 0))
    val fields = new GenericInternalRow(held.toArray[Any])
    Call(
      found,
      if (kept == null) null else InternalRow(kept.get(0), kept.get(1), text),
      Protocol.NoTime,
      timedOut,
      rows,
      (text +: held).filter(_ != null).map(_.numBytes.toLong).sum,
      settle(named, due, _, _),
      Seq(new GenericArrayData(due), fields).take(VariableStates.fieldsOf(parts))
    )
  }

  private def textOf(row: Row, at: Int): UTF8String =
    if (row == null) null else UTF8String.fromString(row.getString(at))

  private def settle(named: Row, due: Array[Long], answer: Answer, line: Int): Unit = {
    ImplicitGroupingKeyTracker.setImplicitKey(named)
    answer.action(line) match {
      case Protocol.Untouched =>
      case Protocol.Put       =>
        val state = answer.state(line)
        val text = Option(state.getUTF8String(2)).map(_.toString).orNull
        document.update(Row(state.getInt(0), state.getLong(1), text))
      case Protocol.Removed => document.clear()
      case other            => throw ManyKeysErrors.unknownAction(other)
    }
    texts.indices.filter(answer.wrote(_, line)).foreach { n =>
      answer.part(n, line) match {
        case null => texts(n).clear()
        case text => texts(n).update(Row(text.toString))
      }
    }
    answer.ended(line).foreach(handle.deleteTimer)
    answer.begun(line).foreach(handle.registerTimer)
    due.foreach(handle.deleteTimer)
  }
}

private[many] object VariableStates {

  /** The variable of what is not a part, as the Python package names it. */
  val Name = "state"

  /** How many fields a call has beside those of every kind. */
  def fieldsOf(parts: Seq[PartVariable]): Int = if (parts.isEmpty) 1 else 2
}
