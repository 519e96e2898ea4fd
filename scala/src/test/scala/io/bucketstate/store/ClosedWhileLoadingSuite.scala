package io.bucketstate.store

import java.lang.reflect.Proxy
import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.table.StateTable
import io.bucketstate.testkit.{TidySuite, Warnings}

/** What is loaded beside the batches when a store closes loses its files, which is nobody's business. */
class ClosedWhileLoadingSuite extends TidySuite with Eventually {

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(20, Seconds), interval = Span(20, Millis))

  /** What is logged, and counted, when the load of a table fails that was stopped before or was not. */
  private def failed(isStopped: Boolean): (Seq[String], Long) = {
    val begun, goesOn = new CountDownLatch(1)
    @volatile var loader: Thread = null
    val table = Proxy
      .newProxyInstance(
        getClass.getClassLoader,
        Array(classOf[StateTable]),
        (_, method, _) =>
          method.getName match {
            case "isResident"      => Boolean.box(false)
            case "requireVerified" =>
              loader = Thread.currentThread
              begun.countDown()
              goesOn.await()
              throw new IllegalStateException("its files were taken away")
            case "isSound" => Boolean.box(true)
          }
      )
      .asInstanceOf[StateTable]
    val warmUp = new WarmUp("the store", identity, () => fail("nobody asks for memory"))
    val warnings = Warnings.during(classOf[WarmUp].getName) {
      warmUp.inUse(table)
      assert(begun.await(20, TimeUnit.SECONDS), "nothing is loaded beside the batches")
      if (isStopped) warmUp.stop()
      goesOn.countDown()
      eventually {
        assert(!loader.getStackTrace.exists(_.getClassName.startsWith(classOf[WarmUp].getName)))
      }
    }
    (warnings, warmUp.drainFailures())
  }

  test("a failure beside the batches of an open store is a warning") {
    val (warnings, failures) = failed(isStopped = false)
    assert(warnings.exists(_.contains("could not be loaded beside the batches")), warnings)
    assert(failures == 1)
  }

  test("a store that was closed while it was loaded says nothing") {
    assert(failed(isStopped = true) == (Nil, 0L))
  }
}
