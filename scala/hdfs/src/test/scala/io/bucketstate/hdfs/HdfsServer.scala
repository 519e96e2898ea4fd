package io.bucketstate.hdfs

/** An HDFS for tests in another process: prints where it is, and ends when its input does. */
object HdfsServer {

  def main(arguments: Array[String]): Unit = {
    require(arguments.isEmpty, "takes no arguments")
    val hdfs = MiniHdfs.start(dataNodes = 1)
    try {
      val web = hdfs.cluster.getNameNode.getHttpAddress.getPort
      Console.out.print(s"READY ${hdfs.uri} $web\n")
      Console.out.flush()
      while (System.in.read() >= 0) {}
    } finally hdfs.close()
  }
}
