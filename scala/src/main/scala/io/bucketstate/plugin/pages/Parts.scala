package io.bucketstate.plugin.pages

import scala.xml.{Node, NodeSeq, Text}

import io.bucketstate.plugin.doctor.{Advice, Diagnosis}
import io.bucketstate.plugin.queries.{ExecutorView, QueryView}

/** Parts that several pages have. */
private[pages] object Parts {

  def status(query: QueryView): String = query.end match {
    case None                               => "running"
    case Some(end) if end.failure.isDefined => "failed"
    case Some(_)                            => "ended"
  }

  /** How much of the limit is taken, as a bar and in words. */
  def memory(executor: ExecutorView): NodeSeq =
    if (executor.memoryLimit <= 0) Text(Shown.bytes(executor.memoryBytes))
    else {
      val words =
        s"${Shown.bytes(executor.memoryBytes)} of ${Shown.bytes(executor.memoryLimit)} (${Shown
            .share(executor.memoryBytes.toDouble, executor.memoryLimit.toDouble)})"
      <meter min="0" max={executor.memoryLimit.toString} high={
        (executor.memoryLimit * 0.9).toLong.toString
      } value={executor.memoryBytes.toString} title={words}></meter> ++ Text(s" $words")
    }

  def name(executor: ExecutorView): String =
    if (executor.isLost) s"${executor.executor} (lost)" else executor.executor

  def diagnosis(found: Diagnosis): NodeSeq =
    found.advice.map(advice) ++
      found.notes.map(note => <p class="bucketstate-quiet">{note}</p>) ++
      (if (found.advice.isEmpty && found.notes.isEmpty) {
         <p>Nothing that a setting would help.</p>
       } else NodeSeq.Empty)

  private def advice(one: Advice): Node = {
    val figures = one.figures.map { case (name, value) => s"$name ${Shown.figure(value)}" }
    <div class="bucketstate-advice">
      <p><strong>{one.about}</strong>: {one.what}</p>
      <p>{one.help}</p>
      <p class="bucketstate-quiet">{figures.mkString(", ")}</p>{
      if (one.settings.isEmpty) NodeSeq.Empty
      else <p>Settings: {one.settings.map(key => <code>{key}</code> ++ Text(" "))}</p>
    }</div>
  }
}
