import type { DriverAppParts } from '@csi-sidecars/sidecar'
import { failing, type HttpServer, listenHttp, metricsReply, type Routes, StartError } from '@csi-sidecars/sidecar'
import type { Metrics } from '@csi-sidecars/telemetry'
import type { FLAGS } from './flags.ts'

type ProbeParts = DriverAppParts<typeof FLAGS>
type Values = ProbeParts['flags']['values']

const DEFAULT_PORT = '9808'

/** Ends the start with the messages of the Go original if flags exclude each other. */
export function checkAddresses(values: Values): void {
  if (values['http-endpoint'] === '') return
  if (values['health-port'] !== DEFAULT_PORT) {
    throw new StartError('Only one of `--health-port` and `--http-endpoint` can be explicitly set')
  }
  if (values['metrics-address'] !== '') {
    throw new StartError('Only one of `--metrics-address` and `--http-endpoint` can be explicitly set')
  }
}

/** Listens for the kubelet, and for scrapers if a flag asks for it. */
export async function openEndpoints(
  { flags, log, alone, atEnd }: ProbeParts,
  health: Routes,
  metrics: Metrics,
): Promise<void> {
  const { values } = flags
  const path = values['metrics-path']
  const metricsRoute: Routes = new Map([[path, metricsReply(metrics)]])
  const closeAtEnd = (server: HttpServer): void => atEnd(() => void server.close())
  const separate = values['metrics-address']
  if (separate !== '') {
    log.info('Separate metrics ServeMux listening', { address: separate })
    const message = 'Failed to start prometheus metrics endpoint on specified address and path'
    closeAtEnd(
      await listenHttp({ address: separate, routes: metricsRoute, log }).catch(
        failing(message, { addr: separate, path }),
      ),
    )
  }
  const own = values['http-endpoint']
  const address = own === '' ? `0.0.0.0:${values['health-port']}` : own
  log.info('ServeMux listening', { address })
  const routes = own === '' ? health : new Map([...metricsRoute, ...health])
  closeAtEnd(
    await listenHttp({ address, routes, log }).catch((cause: unknown) => {
      // The Go original ends with 0 then. In a process with controllers that would say that they have drained.
      throw new StartError('Failed to start http server', { cause, exitCode: alone ? 0 : 1 })
    }),
  )
}
