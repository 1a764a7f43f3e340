import type { Reader } from './reader.ts'
import { httpAnswers } from './readers/http.ts'
import { protobufObjects } from './readers/objects.ts'
import { statusDetails } from './readers/status-details.ts'
import { durations, flags, kubeconfigs, quantities } from './readers/texts.ts'
import { jsonFrames, protobufFrames } from './readers/watch.ts'

/** All that read bytes from outside without knowing who wrote them. */
export const READERS: readonly Reader[] = [
  httpAnswers,
  jsonFrames,
  protobufFrames,
  protobufObjects,
  statusDetails,
  quantities,
  flags,
  kubeconfigs,
  durations,
]
