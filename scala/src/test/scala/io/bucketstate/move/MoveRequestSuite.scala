package io.bucketstate.move

import java.nio.file.Files

import io.bucketstate.error.InvalidException
import io.bucketstate.testkit.TidySuite

class MoveRequestSuite extends TidySuite {

  test("all that can be asked for, in words and as JSON, is the same request") {
    val offsets = Files.createTempFile("offsets", ".txt")
    Files.writeString(offsets, "{\"a\":1}\n-\n")
    try {
      val words = MoveArguments.parse(
        s"import a b --batch 3 --partitions 5 --buckets 16 --format 2 --operator 1 --offsets $offsets --from rows --source-provider hdfs --verify counts --dry-run --read --json"
          .split(' ')
          .toSeq ++ Seq("--delete-keys", "k > 3")
      )
      val json = MoveRequest.of(
        """{"kind":"import","source":"a","target":"b","batch":3,"partitions":5,"buckets":16,"format":2,
          |"deleteKeys":"k > 3","operator":1,"offsets":["{\"a\":1}","-"],"rows":"rows","sourceProvider":"hdfs","verify":"counts"}""".stripMargin
      )
      assert(words.request == json)
      assert(words.isDryRun && words.reads && words.asJson)
    } finally Files.delete(offsets)
    val plain = MoveArguments.parse(Seq("handover", "a", "b", "--offsets", "options"))
    assert(
      plain.request == MoveRequest.of(
        """{"kind":"handover","source":"a","target":"b","offsets":"options"}"""
      )
    )
    assert(plain.request.verifyFully && !plain.isDryRun)
    val inPlace = MoveArguments.parse("rewrite a --in-place --partitions 8".split(' ').toSeq)
    assert(
      inPlace.request ==
        MoveRequest.of("""{"kind":"rewrite","source":"a","partitions":8,"inPlace":true}""")
    )
    assert(MoveArguments.undoOf(Seq("rewrite", "a", "--in-place", "--undo")).contains("a"))
    assert(MoveArguments.undoOf(Seq("rewrite", "a", "--in-place")).isEmpty)
  }

  for (
    (words, said) <- Seq(
      "" -> "no kind of move",
      "clone a b" -> "no kind of move",
      "import a" -> "two paths",
      "import a b c" -> "two paths",
      "import a b --fast" -> "no option --fast",
      "import a b --batch" -> "--batch needs a value",
      "import a b --batch x" -> "--batch is 'x'",
      "import a b --partitions 0" -> "partitions is 0",
      "import a b --buckets 99999" -> "buckets is 99999",
      "import a b --format 3" -> "checkpoint format 3",
      "import a b --verify twice" -> "'twice' is no way to verify",
      "rewrite a b --in-place --partitions 8" -> "takes one path",
      "rewrite a --in-place" -> "how many partitions",
      "rewrite a --in-place --partitions 8 --buckets 4" -> "buckets was asked for",
      "import a --in-place --partitions 8" -> "another kind than rewrite",
      "rewrite a --in-place --undo --partitions 8" -> "--undo goes with",
      "export a b --to redis" -> "'redis' is no state store provider",
      "handover a b --offsets /nowhere" -> "no file /nowhere",
      "handover a b --offsets earliest" -> "no file earliest"
    )
  ) test(s"refused: $words") {
    val error = intercept[InvalidException](MoveArguments.parse(words.split(' ').toSeq))
    assert(error.getMessage.contains(said))
  }

  for (
    (json, said) <- Seq(
      "[]" -> "JSON object",
      "{\"kind\":\"import\",\"source\":\"a\",\"target\":\"b\",\"fast\":1}" -> "no member 'fast'",
      "{\"kind\":\"import\",\"source\":\"\",\"target\":\"b\"}" -> "is empty",
      "{\"kind\":\"handover\",\"source\":\"a\",\"target\":\"b\",\"offsets\":\"late\"}" -> "'\"late\"'",
      "{\"kind\":\"handover\",\"source\":\"a\",\"target\":\"b\",\"offsets\":\"earliest\"}" -> "Give 'options'",
      "{broken" -> "no JSON"
    )
  ) test(s"refused: $json") {
    val error = intercept[InvalidException](MoveRequest.of(json))
    assert(error.getMessage.contains(said))
  }
}
