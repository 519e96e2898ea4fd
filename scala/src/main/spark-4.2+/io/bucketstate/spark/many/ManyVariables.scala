package io.bucketstate.spark.many

import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets.{ISO_8859_1, US_ASCII, UTF_8}
import java.nio.{ByteBuffer, ByteOrder}

import org.apache.spark.sql.catalyst.expressions.{Attribute, PythonUDF}
import org.apache.spark.sql.catalyst.plans.logical.TransformWithStateInPySpark.UserFacingDataType
import org.apache.spark.sql.execution.python.ManyKeysVariables
import org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkExec
import org.apache.spark.sql.types._

/** A part of a state that is a variable of one value, with its time to live in milliseconds if it has one. */
private[many] final case class PartVariable(name: String, ttlMillis: Option[Long])

/**
 * What a function of `transformWithState` says of itself, if it takes many keys in a call.
 *
 * @param function as the runner of `mapInArrow` takes it
 */
private[many] final case class ManyVariables(function: PythonUDF, parts: Seq[PartVariable])

private[many] object ManyVariables {

  /**
   * None for a function that does not say so, and where it would get other keys than on Spark's own way.
   *
   * A function has no name of its own on this operator, so what it says lies in the pickle of its processor.
   */
  def of(operator: TransformWithStateInPySparkExec): Option[ManyVariables] =
    operator.functionExpr match {
      case function: PythonUDF
          if operator.isStreaming && !operator.hasInitialState &&
            operator.userFacingDataType == UserFacingDataType.PYTHON_ROW &&
            operator.groupingAttributes.forall(isExact) =>
        for {
          command <- ManyKeysVariables.commandOf(function)
          parts <- partsIn(command)
        } yield ManyVariables(
          ManyKeysVariables.withCommand(function, unwrapping(command)),
          parts
        )
      case _ => None
    }

  /** Whether the function is one for many keys, also where the operator cannot run it so. */
  def isMarked(operator: TransformWithStateInPySparkExec): Boolean = operator.functionExpr match {
    case function: PythonUDF =>
      ManyKeysVariables.commandOf(function).flatMap(partsIn).isDefined
    case _ => false
  }

  /** Whether a key is the same one to Python; a NaN is not, and readings of a clock may be another time. */
  private def isExact(key: Attribute): Boolean = key.dataType match {
    case text: StringType => text == StringType
    case ByteType | ShortType | IntegerType | LongType | BooleanType | DateType => true
    case _                                                                      => false
  }

  /** The variables that a pickle names; None for one without the marker. */
  private[many] def partsIn(command: Array[Byte]): Option[Seq[PartVariable]] = {
    val bytes = new String(command, ISO_8859_1)
    val begin = bytes.indexOf(Protocol.VariablesMarker) + Protocol.VariablesMarker.length
    val end = bytes.indexOf('\n', begin)
    Option.when(begin >= Protocol.VariablesMarker.length && end >= 0) {
      new String(command, begin, end - begin, UTF_8).split(',').toSeq.filter(_.nonEmpty).map {
        declared =>
          val (name, ttl) = declared.splitAt(declared.indexOf('='))
          PartVariable(name, Option.when(ttl.length > 1)(ttl.drop(1).toLong))
      }
    }
  }

  /**
   * The pickle of `of_command(command)`, in the third version of that format, which every Python reads: a worker
   * makes of the processor a function for many keys.
   */
  private[many] def unwrapping(command: Array[Byte]): Array[Byte] = {
    val made = new ByteArrayOutputStream(command.length + 100)
    made.write(Array[Byte](0x80.toByte, 3))
    made.write("cbucketstate.stateful.many.variables\nof_command\n".getBytes(US_ASCII))
    made.write('B')
    made.write(ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(command.length).array)
    made.write(command)
    // A tuple of one, called with it, and the end.
    made.write(Array[Byte](0x85.toByte, 'R', '.'))
    made.toByteArray
  }
}
