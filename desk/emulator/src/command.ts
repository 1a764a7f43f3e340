import { readFile, writeFile } from 'node:fs/promises'
import { answeredOrValues, type Clock, refuseRepeated, systemCodeOf, throwRefusal } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'
import yargs from 'yargs'
import { KUBECONFIG_HEAD } from './apiserver/http/kubeconfig.ts'
import { type ApiServer, startApiServer } from './apiserver/server.ts'
import { type CsiDriver, startCsiDriver } from './csi-driver/server.ts'

/** The command line of the emulator. */
export interface CommandOptions {
  readonly kubeconfigOut: string
  readonly port: number
  readonly csiSocket: string | undefined
}

/** Reads the command line. Throws an error with a readable message if it is wrong. */
export async function readCommandLine(
  args: readonly string[],
  write: (text: string) => void,
): Promise<CommandOptions | 'answered'> {
  const parser = yargs([...args])
    .scriptName('emulator')
    .usage('$0 --kubeconfig-out FILE [options]\n\nA Kubernetes API server and a CSI driver in memory.')
    .options({
      'kubeconfig-out': {
        type: 'string',
        describe: 'where to write a kubeconfig for the API server; one that is not of an emulator stays',
      },
      port: { type: 'number', default: 0, describe: 'port of the API server on 127.0.0.1; 0: any free one' },
      'csi-socket': { type: 'string', describe: 'serve a CSI driver on this unix socket' },
    })
    .strict()
    .version(false)
    .locale('en')
    .exitProcess(false)
    .fail(throwRefusal)
  const read = await answeredOrValues(parser, args, write)
  if (read === 'answered') return read
  refuseRepeated(read, ['kubeconfig-out', 'port', 'csi-socket'])
  const kubeconfigOut = read['kubeconfig-out']
  if (kubeconfigOut === undefined || kubeconfigOut === '') throw new Error('--kubeconfig-out is required')
  const { port } = read
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error('--port must be a port number')
  return { kubeconfigOut, port, csiSocket: read['csi-socket'] }
}

interface Running {
  readonly api: ApiServer
  readonly driver: CsiDriver | undefined
  stop(): Promise<void>
}

/** Starts the requested servers. `onCrash` is called when a fault has killed the driver. */
export async function startCommand(
  options: CommandOptions,
  deps: { clock: Clock; log: Logger; onCrash: () => void },
): Promise<Running> {
  const { clock, log, onCrash } = deps
  await refuseForeign(options.kubeconfigOut)
  const api = await startApiServer({ clock, log, port: options.port, tls: true })
  await writeFile(options.kubeconfigOut, api.kubeconfig(), { mode: 0o600 })
  const { csiSocket: socket } = options
  let driver: CsiDriver | undefined
  if (socket !== undefined) {
    try {
      driver = await startCsiDriver({ socket, clock, onCrash, unknownVolumes: 'adopt' })
    } catch (error) {
      await api.stop()
      throw error
    }
  }
  const stop = async (): Promise<void> => {
    await driver?.stop()
    await api.stop()
  }
  return { api, driver, stop }
}

/** Throws if another program has written the file, so that the emulator does not overwrite it. */
async function refuseForeign(kubeconfig: string): Promise<void> {
  let text: string
  try {
    text = await readFile(kubeconfig, 'utf8')
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return
    throw error
  }
  if (text !== '' && !text.startsWith(KUBECONFIG_HEAD)) throw new Error(`${kubeconfig} exists and is not an emulator's`)
}
