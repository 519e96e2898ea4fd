package io.bucketstate.checkpoint.run

import io.bucketstate.checkpoint.io.BlockCodec

/**
 * How runs are written.
 *
 * @param codec      what blocks are compressed with, as far as RocksDB knows it; else they are with LZ4
 * @param blockBytes a data block ends with the record that takes it to so many bytes, raw
 */
final case class SstOptions(codec: BlockCodec, blockBytes: Int)
