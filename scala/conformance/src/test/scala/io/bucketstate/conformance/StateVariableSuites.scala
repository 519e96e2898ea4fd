package io.bucketstate.conformance

import java.lang.reflect.{InvocationHandler, InvocationTargetException, Method, Proxy}
import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

import io.bucketstate.BucketedStateStoreProvider

// The state variables and timers of transformWithState, below the queries.

/**
 * Gives the tests stores of this project's provider, where Spark's base class says in its types that they
 * are of its own.
 */
trait VariablesOnBucketstate extends VariableStores with OnBucketstate {
  import VariablesOnBucketstate._

  override protected def standIn(
      storeId: StateStoreId,
      keyStateEncoderSpec: KeyStateEncoderSpec,
      sqlConf: SQLConf,
      conf: Configuration,
      useColumnFamilies: Boolean,
      schemaProvider: Option[StateSchemaProvider]
  ): StandIn = {
    val provider = new BucketedStateStoreProvider
    val schemas = testing(schemaProvider)
    schemas.captureSchema(StateStore.DEFAULT_COL_FAMILY_NAME, schemaForKeyRow, schemaForValueRow)
    conf.set(StreamExecution.RUN_ID_KEY, UUID.randomUUID().toString)
    provider.init(
      storeId,
      schemaForKeyRow,
      schemaForValueRow,
      keyStateEncoderSpec,
      useColumnFamilies,
      new StateStoreConf(sqlConf),
      conf,
      useMultipleValuesPerKey,
      Some(schemas)
    )
    new StandIn(provider, schemas)
  }

  override protected def tryWithProviderResource[T](
      provider: StateStoreProvider
  )(f: StateStoreProvider => T): T =
    super.tryWithProviderResource(provider match {
      case standIn: StandIn => telling(standIn.provider, standIn.schemas)
      case other            => throw new IllegalArgumentException(s"a test made a $other itself")
    })(given => OpenStores.ended(f(given)))
}

object VariablesOnBucketstate {

  private def testing(schemas: Option[StateSchemaProvider]): TestStateSchemaProvider =
    schemas match {
      case Some(ours: TestStateSchemaProvider) => ours
      case None                                => new TestStateSchemaProvider
      case Some(other)                         =>
        throw new IllegalArgumentException(s"a test has schemas of its own: $other")
    }

  /**
   * In a query the operator has written the schemas of all families before there is a store. In these tests
   * they are known when a family is made, and Spark's provider tells them then.
   */
  private def telling(
      provider: StateStoreProvider,
      schemas: TestStateSchemaProvider
  ): StateStoreProvider =
    intercepted(classOf[StateStoreProvider], provider) { (_, call) =>
      call() match {
        case store: StateStore =>
          intercepted(classOf[StateStore], store) { (arguments, create) =>
            arguments match {
              case Seq(name: String, key: StructType, value: StructType, _*) =>
                schemas.captureSchema(name, key, value)
              case _ =>
            }
            create()
          }
        case other => other
      }
    }

  private def intercepted[T](of: Class[T], target: T)(
      handler: (Seq[Any], () => AnyRef) => AnyRef
  ): T = {
    val invocations = new InvocationHandler {
      override def invoke(proxy: AnyRef, method: Method, arguments: Array[AnyRef]): AnyRef =
        handler(
          Option(arguments).fold(Seq.empty[Any])(_.toSeq),
          () =>
            try method.invoke(target, Option(arguments).getOrElse(Array.empty[AnyRef]): _*)
            catch { case failed: InvocationTargetException => throw failed.getCause }
        )
    }
    of.cast(Proxy.newProxyInstance(of.getClassLoader, Array[Class[_]](of), invocations))
  }
}

class BucketedValueStateSuite extends ValueStateSuite with VariablesOnBucketstate
class BucketedListStateSuite extends ListStateSuite with VariablesOnBucketstate
class BucketedMapStateSuite extends MapStateSuite with VariablesOnBucketstate
class BucketedTimerSuite extends TimerSuite with VariablesOnBucketstate
class BucketedStatefulProcessorHandleSuite
    extends StatefulProcessorHandleSuite
    with VariablesOnBucketstate
