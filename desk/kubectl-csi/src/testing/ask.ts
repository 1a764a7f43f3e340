import { FakeClock } from '@csi-sidecars/base/testing'
import { createInProcessServer, type InProcessServer } from '@csi-sidecars/emulator'
import { apiErrorOf } from '@csi-sidecars/kube-client'
import type { KubeObject, Resource } from '@csi-sidecars/kube-types'
import { InProcessClient } from '@csi-sidecars/testkit'
import type { SubjectKind } from '../facts/collect.ts'
import type { ReadOnlyClient } from '../facts/reader.ts'
import type { CommandQuestion, PluginOptions } from '../options.ts'
import { run } from '../run.ts'
import { type PodProxy, withProxy } from './client.ts'
import { NOW } from './facts.ts'

/** An object, and the resource under which it is stored. */
export type Stored = readonly [Resource<unknown>, object]

/** Returns an API server with these objects, whose clock shows `NOW`. */
export function serving(objects: readonly Stored[]): InProcessServer {
  const server = createInProcessServer({ clock: new FakeClock({ now: NOW }) })
  for (const [resource, object] of objects) server.create(resource, object as KubeObject)
  return server
}

export function clientOf(server: InProcessServer, proxy?: PodProxy): ReadOnlyClient {
  return withProxy(new InProcessClient(server, { errorOf: apiErrorOf }), proxy).client
}

export const STUCK: CommandQuestion = { ask: 'stuck' }

export function explain(kind: SubjectKind, name: string): CommandQuestion {
  return { ask: 'explain', kind, name, namespace: undefined }
}

/** Runs the command. Returns its output, the first line, and the exit code. */
export async function ask(
  client: ReadOnlyClient,
  question: CommandQuestion,
  { json = false, stuckAfterMs = 30_000 }: Partial<Pick<PluginOptions, 'json' | 'stuckAfterMs'>> = {},
) {
  let text = ''
  const options = { question, kubeconfig: undefined, context: undefined, json, stuckAfterMs }
  const code = await run(options, {
    client,
    namespace: 'default',
    clock: new FakeClock({ now: NOW }),
    signal: new AbortController().signal,
    write: (part) => {
      text += part
    },
  })
  return { code, text, first: text.split('\n')[0] }
}
