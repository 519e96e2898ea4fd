package io.bucketstate.bench
package tws

import java.util.SplittableRandom

import org.apache.spark.sql.Encoders
import org.apache.spark.sql.streaming._

/** A row of a stream of payments. */
final case class Payment(customer: String, kind: Int, amount: Long)

object Payment {
  val Kinds = 8

  /** The row of this number: the first ones bring every customer once, those after them are drawn evenly. */
  def numbered(number: Long, customers: Int): Payment = {
    val random = new SplittableRandom(number)
    val drawn = random.nextInt(customers)
    val customer = if (number < customers) number.toInt else drawn
    Payment(s"customer-${First + customer}", random.nextInt(Kinds), random.nextInt(1000).toLong)
  }

  /** The customer's number, from 0 on. */
  def customerOf(payment: Payment): Int =
    (payment.customer.substring(payment.customer.indexOf('-') + 1).toLong - First).toInt

  /** So that all names have the same length. */
  private final val First = 1000000000L
}

/** What is known of a customer; `idle` is when the timer of inactivity is due, in ms since 1970. */
final case class Account(payments: Long, sum: Long, idle: Long)

/**
 * What is said of a customer after payments, and when a statement is due.
 *
 * @param listed sum of the payments since the last statement
 * @param byKind payments, added up over the kinds
 */
final case class Said(
    customer: String,
    payments: Long,
    sum: Long,
    listed: Long,
    byKind: Long,
    statement: Boolean
)

/**
 * A value, a list, a map with TTL and timers for each customer. A timer of inactivity moves with each
 * visit and is not due while a benchmark runs. After every fourth payment a statement is due with the
 * next batch, whenever that is, and begins the list anew. So what a batch does depends on its rows alone,
 * not on how fast it is.
 */
final class Customers extends StatefulProcessor[String, Payment, Said] {
  import Customers._

  @transient private var account: ValueState[Account] = _
  @transient private var recent: ListState[Long] = _
  @transient private var kinds: MapState[Int, Long] = _

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = {
    account = getHandle.getValueState("account", Encoders.product[Account], TTLConfig.NONE)
    recent = getHandle.getListState("recent", Encoders.scalaLong, TTLConfig.NONE)
    kinds = getHandle.getMapState("kinds", Encoders.scalaInt, Encoders.scalaLong, TTLConfig(Never))
  }

  override def handleInputRows(
      customer: String,
      payments: Iterator[Payment],
      timers: TimerValues
  ): Iterator[Said] = {
    val now = timers.getCurrentProcessingTimeInMs()
    val before = Option(account.get())
    before.foreach(known => getHandle.deleteTimer(known.idle))
    var after = before.getOrElse(Account(0, 0, 0)).copy(idle = now + Never.toMillis)
    payments.foreach { payment =>
      recent.appendValue(payment.amount)
      val known = if (kinds.containsKey(payment.kind)) kinds.getValue(payment.kind) else 0L
      kinds.updateValue(payment.kind, known + 1)
      after = after.copy(payments = after.payments + 1, sum = after.sum + payment.amount)
    }
    account.update(after)
    getHandle.registerTimer(after.idle)
    if (statementDue(before.fold(0L)(_.payments), after.payments)) getHandle.registerTimer(now + 1)
    Iterator.single(said(customer, statement = false))
  }

  override def handleExpiredTimer(
      customer: String,
      timers: TimerValues,
      expired: ExpiredTimerInfo
  ): Iterator[Said] = {
    val statement = said(customer, statement = true)
    recent.clear()
    Iterator.single(statement)
  }

  private def said(customer: String, statement: Boolean): Said = {
    val known = account.get()
    Said(customer, known.payments, known.sum, recent.get().sum, kinds.values().sum, statement)
  }
}

object Customers {
  private val PerStatement = 4L
  private val Never = java.time.Duration.ofHours(12)

  def statementDue(before: Long, after: Long): Boolean =
    before / PerStatement != after / PerStatement
}
