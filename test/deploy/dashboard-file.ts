/** The Grafana dashboard as tests look at it. */
import { deployText } from './compose-file.ts';

/** A query of a panel. */
export interface DashboardTarget {
  refId: string;
  expr: string;
}

/** A panel; rows have no queries. */
export interface DashboardPanel {
  id: number;
  type: string;
  title: string;
  description?: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets: DashboardTarget[];
}

/** The whole dashboard. */
export interface Dashboard {
  uid: string;
  panels: DashboardPanel[];
  templating: { list: { name: string; query: { query: string } }[] };
}

/** Reads `deploy/grafana/dashboards/orangebox.json`. */
export function readDashboard(): Dashboard {
  return JSON.parse(deployText('grafana/dashboards/orangebox.json')) as Dashboard;
}

/** All panels but the rows. */
export const panelsOf = (dashboard: Dashboard): DashboardPanel[] =>
  dashboard.panels.filter(({ type }) => type !== 'row');

/** Every query with the panel that it belongs to, its variables filled in as Grafana does for "all models". */
export function queriesOf(dashboard: Dashboard, rateInterval = '5m'): { title: string; expr: string }[] {
  return panelsOf(dashboard).flatMap(({ title, targets }) =>
    targets.map(({ expr }) => ({
      title,
      expr: expr.replaceAll('$__rate_interval', rateInterval).replaceAll('$model', '.*'),
    })),
  );
}
