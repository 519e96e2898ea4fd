package io.bucketstate.checkpoint.run

import java.nio.file.Path

/**
 * Where a store keeps its working files.
 *
 * @param temporary whether the folder is this provider's alone and goes with it
 */
final case class WorkFolder(path: Path, temporary: Boolean)
