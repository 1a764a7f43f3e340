import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import process from 'node:process'
import { CancelledError, messageOf, systemClock } from '@csi-sidecars/base'
import { createKubeClient, flowOptions, loadClusterConfig } from '@csi-sidecars/kube-client'
import { silentLogger } from '@csi-sidecars/telemetry'
import { readOnly } from './facts/reader.ts'
import { kubeconfigFiles } from './kubeconfig.ts'
import { type PluginOptions, parseOptions } from './options.ts'
import { oneLine } from './output/explanation.ts'
import { planFromManifest } from './plan/command.ts'
import { run } from './run.ts'

const UNKNOWN = 2
const INTERRUPTED = 130

const stop = new AbortController()
process.once('SIGINT', () => stop.abort(new CancelledError('interrupted')))
process.stdout.on('error', (error) => {
  // The reader of the output, such as `head`, may have closed the pipe.
  process.exit('code' in error && error.code === 'EPIPE' ? 0 : UNKNOWN)
})

void main().then((code) => {
  process.exitCode = code
})

/** Runs the command and returns its exit code. Prints a failure as one line. */
async function main(): Promise<number> {
  try {
    const write = (text: string): void => void process.stdout.write(text)
    const options = await parseOptions(process.argv.slice(2), write)
    if (options === 'answered') return 0
    const { question, json } = options
    if (question.ask === 'plan' && question.filename !== undefined) {
      // The descriptor 0 is the standard input.
      const text = readFileSync(question.filename === '-' ? 0 : question.filename, 'utf8')
      return planFromManifest(question, text, { json, write })
    }
    return await ask(options, write)
  } catch (error) {
    process.stderr.write(`kubectl-csi: ${oneLine(messageOf(error))}\n`)
    return stop.signal.aborted ? INTERRUPTED : UNKNOWN
  }
}

async function ask(options: PluginOptions, write: (text: string) => void): Promise<number> {
  const { env } = process
  const sources = { env, clock: systemClock, log: silentLogger }
  const kubeconfig = kubeconfigFiles(options.kubeconfig, env, homedir())
  const config = await loadClusterConfig({ kubeconfig, context: options.context, ...sources })
  const flow = flowOptions({ qps: -1 })
  const client = createKubeClient({ config, flow, clock: systemClock, log: silentLogger, userAgent: 'kubectl-csi' })
  try {
    const namespace = config.namespace ?? 'default'
    return await run(options, { client: readOnly(client), namespace, clock: systemClock, signal: stop.signal, write })
  } finally {
    client.close()
  }
}
