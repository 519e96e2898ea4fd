package io.bucketstate.move

import java.nio.file.{Files, Path}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.{fs => hadoop}

import io.bucketstate.move.log.QueryFolder
import io.bucketstate.testkit.ProviderHarness.withFolder
import io.bucketstate.testkit.TidySuite

/** The folder of a query that may still run. */
class QueryFolderSuite extends TidySuite {

  test("files are listed with their lengths while others go") {
    withFolder { root =>
      val inside = Files.createDirectories(root.resolve("state/0/0"))
      val kept = Files.write(inside.resolve("kept"), new Array[Byte](7))
      val folder =
        new QueryFolder(new hadoop.Path(root.toString), new Configuration, Set.empty[String])
      try
        for (round <- 1 to 2) {
          val going = (0 until 3000).map(n => Files.createFile(inside.resolve(s"$round-$n")))
          val deleting = new Thread(() => going.foreach(Files.delete(_: Path)))
          deleting.start()
          var found = folder.lengths("")
          while (deleting.isAlive) found = folder.lengths("state")
          deleting.join()
          assert(found(root.relativize(kept).toString) == 7L)
          assert(folder.lengths("").keySet == Set("state/0/0/kept"))
        }
      finally folder.close()
    }
  }

  test("a folder that is not there has no files") {
    withFolder { root =>
      val folder =
        new QueryFolder(new hadoop.Path(root.toString), new Configuration, Set.empty[String])
      try assert(folder.lengths("nothing").isEmpty)
      finally folder.close()
    }
  }
}
