// The parts of Apache ECharts that the pages use, and no others: make charts bundles them into echarts.min.js.
import * as echarts from 'echarts/core';
import {BarChart, CustomChart, LineChart} from 'echarts/charts';
import {AriaComponent, DataZoomComponent, GridComponent, LegendComponent, TooltipComponent} from 'echarts/components';
import {CanvasRenderer, SVGRenderer} from 'echarts/renderers';

echarts.use([BarChart, CustomChart, LineChart, AriaComponent, DataZoomComponent, GridComponent, LegendComponent, TooltipComponent,
	CanvasRenderer, SVGRenderer]);
export const {init, graphic, format} = echarts;
