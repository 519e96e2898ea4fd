package io.bucketstate.table.scan

import scala.collection.mutable.ArrayBuffer

import org.scalacheck.Gen
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.bucketstate.testkit.TidySuite

/** Which moments a write must keep something for, against a list of what is open. */
class OpenScansSuite extends TidySuite with ScalaCheckPropertyChecks {

  sealed private trait Step
  private case object Begin extends Step
  private case class End(which: Int) extends Step
  private case class EndAgain(which: Int) extends Step
  private case object Forget extends Step

  private val steps: Gen[List[Step]] = Gen.listOf(
    Gen.frequency(
      10 -> Gen.const(Begin),
      6 -> Gen.choose(0, 1000).map(End(_)),
      2 -> Gen.choose(0, 1000).map(EndAgain(_)),
      1 -> Gen.const(Forget)
    )
  )

  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = 300, sizeRange = 400)

  test("a write keeps what the newest open scan may see, in whatever order scans end") {
    forAll(steps) { all =>
      val scans = new OpenScans
      val open = ArrayBuffer.empty[(AnyRef, OpenScans.Open)]
      val ended = ArrayBuffer.empty[OpenScans.Open]
      var begun = 0
      all.foreach {
        case Begin =>
          val scan = new Object
          val entry = scans.began(scan)
          assert(entry.moment == begun)
          begun += 1
          open += scan -> entry
        case End(which) if open.nonEmpty =>
          val (_, entry) = open.remove(which % open.size)
          scans.ended(entry)
          ended += entry
        case EndAgain(which) if ended.nonEmpty => scans.ended(ended(which % ended.size))
        case Forget                            =>
          scans.forget()
          ended ++= open.map(_._2)
          open.clear()
          begun = 0
        case _ => ()
      }
      assert(scans.current == begun)
      val newest = open.map(_._2.moment).maxOption.getOrElse(-1)
      (-1 to begun).foreach(m => assert(scans.mayBeSeen(m) == (m <= newest), s"moment $m"))
    }
  }

  test("scans that were left half-way cost the next ones nothing that grows") {
    val scans = new OpenScans
    // Held, so that none is collected: looking at all of them with each one would take minutes.
    val left = Array.fill(1000000)(new Object)
    left.foreach(scan => scans.began(scan))
    assert(scans.mayBeSeen(left.length - 1) && !scans.mayBeSeen(left.length))
    scans.forget()
    assert(!scans.mayBeSeen(0))
  }
}
