package io.bucketstate.spark.many

import java.nio.charset.StandardCharsets.UTF_8

import io.bucketstate.testkit.TidySuite

class ManyVariablesSuite extends TidySuite {
  private def pickled(text: String): Array[Byte] =
    Array[Byte](0x80.toByte, 5, -1) ++ text.getBytes(UTF_8) ++ Array[Byte](-108, '.')

  test("the parts that a pickle names, with their time to live") {
    val declared = s"${Protocol.VariablesMarker}last=,\u00e4lter=3600000\n"
    assert(
      ManyVariables
        .partsIn(pickled(declared))
        .contains(
          Seq(PartVariable("last", None), PartVariable("\u00e4lter", Some(3600000L)))
        )
    )
    assert(ManyVariables.partsIn(pickled(s"${Protocol.VariablesMarker}\n")).contains(Nil))
  }

  test("a pickle without the marker, with that of another protocol, or cut off, names none") {
    Seq("", "bucketstate-many-variables-2:last=\n", s"${Protocol.VariablesMarker}last=").foreach {
      text => assert(ManyVariables.partsIn(pickled(text)).isEmpty, text)
    }
  }

  test("the pickle for a worker calls the package with what Spark pickled") {
    val function = "cbucketstate.stateful.many.variables\nof_command\n".getBytes(UTF_8)
    val command = Array.fill[Byte](300)(7)
    val expected = Array[Byte](0x80.toByte, 3) ++ function ++
      Array[Byte]('B', 44, 1, 0, 0) ++ command ++ Array[Byte](0x85.toByte, 'R', '.')
    assert(ManyVariables.unwrapping(command).sameElements(expected))
  }
}
