package io.bucketstate.bench
package tws

import scala.collection.mutable

/** All that a batch of [[Customers]] said, added up. */
final case class Answers(rows: Long, payments: Long, sum: Long, listed: Long, byKind: Long)

/** What [[Customers]] has to say, from three arrays. Not thread-safe. */
final class CustomersModel(customers: Int, perBatch: Int) {
  private val payments = new Array[Long](customers)
  private val sums = new Array[Long](customers)
  private val listed = new Array[Long](customers)
  private var due = Set.empty[Int]
  private var next = 0L

  /** The answers of the next batch. */
  def batch(): Answers = {
    val before = mutable.Map.empty[Int, Long]
    for (number <- next * perBatch until (next + 1) * perBatch) {
      val payment = Payment.numbered(number, customers)
      val customer = Payment.customerOf(payment)
      before.getOrElseUpdate(customer, payments(customer))
      payments(customer) += 1
      sums(customer) += payment.amount
      listed(customer) += payment.amount
    }
    next += 1
    val said = answers(before.keys)
    val statements = answers(due)
    due.foreach(listed(_) = 0)
    due = before.collect {
      case (customer, was) if Customers.statementDue(was, payments(customer)) => customer
    }.toSet
    Answers(
      said.rows + statements.rows,
      said.payments + statements.payments,
      said.sum + statements.sum,
      said.listed + statements.listed,
      said.byKind + statements.byKind
    )
  }

  private def answers(customers: Iterable[Int]): Answers = {
    val all = customers.toSeq
    val paid = all.map(payments(_)).sum
    Answers(all.size.toLong, paid, all.map(sums(_)).sum, all.map(listed(_)).sum, paid)
  }
}
