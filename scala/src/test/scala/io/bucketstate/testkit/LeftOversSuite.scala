package io.bucketstate.testkit

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.sql.execution.streaming.state.{StateStore, StateStoreProvider}
import org.scalatest.events.{Event, TestFailed}
import org.scalatest.time.{Millis, Span}
import org.scalatest.{Args, DoNotDiscover}

import io.bucketstate.testkit.ProviderHarness._

class LeftOversSuite extends TidySuite {
  import LeftOversSuite._

  test("a test that leaves a store open fails, and no other one") {
    withHarness { harness =>
      val leaving = new Leaving(harness)
      var failed = Seq.empty[String]
      val status = leaving.run(
        None,
        Args { event: Event =>
          event match {
            case event: TestFailed => failed :+= s"${event.testName}: ${event.message}"
            case _                 =>
          }
        }
      )
      assert(!status.succeeds())
      assert(failed.size == 1, failed)
      assert(failed.head.startsWith("leaves one: "), failed)
      assert(failed.head.contains("is not what there was before the test"), failed)
      leaving.left.close()
    }
  }

  test("every suite looks at what its tests leave") {
    val sources = Using.resource(Files.walk(Paths.get("scala/src/test"))) {
      _.iterator.asScala.filter(_.toString.endsWith(".scala")).toSeq
    }
    def own(path: Path) = path.getFileName.toString == "TidySuite.scala"
    assert(sources.exists(own))
    val others = sources.filter(path => Files.readString(path).contains(s"extends $Plain "))
    assert(others.filterNot(own) == Nil, s": extend TidySuite, and not $Plain")
  }
}

private object LeftOversSuite {
  private val Plain = "AnyFunSuite"

  /** Three tests, of which the second leaves a provider with memory behind. */
  @DoNotDiscover
  private final class Leaving(harness: ProviderHarness) extends TidySuite {
    var left: StateStoreProvider = _

    override protected def closesWithin: Span = Span(200, Millis)

    test("closes all") {
      val provider = harness.provider()
      batch(provider, 0)((1L, "a") -> (1L, "1"))()
      provider.close()
    }

    test("leaves one") {
      left = harness.provider()
      val store: StateStore = left.getStore(1)
      store.put(key(2, "b"), value(2, "2"))
      store.commit()
    }

    test("is not blamed") {
      assert(left != null)
    }
  }
}
