import copy

import torch


class Aggregator:
    def __init__(self, model):
        self.model = model

    def get_model_params(self):
        return copy.deepcopy(self.model.state_dict())

    def set_model_params(self, state_dict):
        self.model.load_state_dict(state_dict)

    def aggregate(self, state_dict_list, num_samples_list):
        counts = torch.tensor(num_samples_list, dtype=torch.float64)
        weights = counts / counts.sum()
        result = {}
        for key in state_dict_list[0]:
            values = [sd[key] for sd in state_dict_list]
            if values[0].is_floating_point():
                stacked = torch.stack([v.double() for v in values])
                shape = [-1] + [1] * values[0].dim()
                result[key] = (stacked * weights.view(shape)).sum(0).to(values[0].dtype)
            else:
                result[key] = values[0].clone()
        return result
